// The text of a file with the author of each line, or of each character, read-only.

import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, gutter, GutterMarker, type DecorationSet } from '@codemirror/view'
import type { MountedEditor, MountOptions } from '../editors/mounted_editor'
import { makeNotice } from '../editors/notice'
import { LanguageSlot, revealLine, viewExtensions } from '../editors/text/setup'
import { relativeTime } from '../language/relative_time'
import { t } from '../language/translate'
import { actorInfo } from './actors'
import './history.css'
import { describeLine, isMixed, rangesOf } from './line_authors'
import { readBlame, type BlameLine } from './versions_api'

const REFRESH_MS = 500
/** Times in the margin are said anew. */
const RETELL_MS = 60_000

const setLines = StateEffect.define<BlameLine[]>()
const setByCharacter = StateEffect.define<boolean>()

class AuthorMarker extends GutterMarker {
  private readonly said: string

  constructor(
    private readonly line: BlameLine,
    private readonly isFirst: boolean,
  ) {
    super()
    this.said = `${describeLine(line)} ${isFirst}`
  }

  override eq(other: AuthorMarker): boolean {
    return other.said === this.said && other.line.actor === this.line.actor
  }

  override toDOM(): HTMLElement {
    const { name, kind, color } = actorInfo(this.line.actor)
    const mark = document.createElement('span')
    mark.className = 'blame-author'
    mark.dataset['kind'] = kind
    mark.style.setProperty('--person', color)
    mark.title = describeLine(this.line)
    if (this.isFirst) {
      const who = document.createElement('b')
      who.textContent = `${kind === 'agent' ? '✦ ' : ''}${name}`
      const when = document.createElement('span')
      when.className = 'blame-when'
      when.textContent = this.line.at === null ? '' : relativeTime(this.line.at)
      mark.append(who, when)
    }
    if (isMixed(this.line)) {
      const mixed = document.createElement('span')
      mixed.className = 'blame-mixed'
      mixed.textContent = '◐'
      mark.append(mixed)
    }
    return mark
  }
}

const blameLines = StateField.define<BlameLine[]>({
  create: () => [],
  update: (lines, tr) => {
    for (const effect of tr.effects) if (effect.is(setLines)) return effect.value
    return lines
  },
})

const byCharacter = StateField.define<boolean>({
  create: () => false,
  update: (is, tr) => {
    for (const effect of tr.effects) if (effect.is(setByCharacter)) return effect.value
    return is
  },
})

const personStyle = (actor: string | null) => ({ style: `--person: ${actorInfo(actor).color}` })

function decorate(state: EditorState): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  const isByCharacter = state.field(byCharacter)
  for (const line of state.field(blameLines)) {
    if (line.line > state.doc.lines) break
    const { from, to } = state.doc.line(line.line)
    if (!isByCharacter) {
      const attributes = personStyle(line.actor)
      builder.add(from, from, Decoration.line({ class: 'blame-line', attributes }))
      continue
    }
    for (const range of rangesOf(line)) {
      if (from + range.to > to) break
      const title = actorInfo(range.actor).name
      const attributes = { ...personStyle(range.actor), title }
      const mark = Decoration.mark({ class: 'blame-character', attributes })
      builder.add(from + range.from, from + range.to, mark)
    }
  }
  return builder.finish()
}

const colors = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (set, tr) => {
    const isNew = tr.effects.some((effect) => effect.is(setLines) || effect.is(setByCharacter))
    return isNew ? decorate(tr.state) : set.map(tr.changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

const isSameRun = (a: BlameLine | undefined, b: BlameLine) =>
  a !== undefined && a.actor === b.actor && a.version === b.version

const authors = gutter({
  class: 'blame-gutter',
  lineMarker: (view, block) => {
    const number = view.state.doc.lineAt(block.from).number
    const lines = view.state.field(blameLines)
    const line = lines[number - 1]
    if (line === undefined) return null
    return new AuthorMarker(line, !isSameRun(lines[number - 2], line))
  },
  lineMarkerChange: (update) =>
    update.docChanged || update.startState.field(blameLines) !== update.state.field(blameLines),
})

/** Makes the bar above the text, with the choice of lines or characters. */
function makeBar(onChoose: (isByCharacter: boolean) => void): HTMLElement {
  const bar = document.createElement('div')
  bar.className = 'blame-bar segments'
  bar.setAttribute('role', 'group')
  bar.setAttribute('aria-label', t('Authors'))
  const buttons = [false, true].map((isByCharacter) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = isByCharacter ? t('By character') : t('By line')
    button.setAttribute('aria-pressed', String(!isByCharacter))
    button.addEventListener('click', () => {
      buttons.forEach((each, n) =>
        each.setAttribute('aria-pressed', `${isByCharacter === (n === 1)}`),
      )
      onChoose(isByCharacter)
    })
    return button
  })
  bar.append(...buttons)
  return bar
}

/** Makes the line below the text, which describes the line of the caret, also to screen readers. */
function makeStatus(): HTMLElement {
  const status = document.createElement('p')
  status.className = 'blame-status'
  status.setAttribute('role', 'status')
  return status
}

function makeView(options: MountOptions, status: HTMLElement, language: LanguageSlot): EditorView {
  const tell = EditorView.updateListener.of(({ state }) => {
    const number = state.doc.lineAt(state.selection.main.head).number
    const line = state.field(blameLines)[number - 1]
    const said = line === undefined ? '' : describeLine(line)
    if (status.textContent !== said) status.textContent = said
  })
  return new EditorView({
    parent: options.container,
    state: EditorState.create({
      extensions: [
        EditorState.readOnly.of(true),
        // The server's lines end in LF: a CR is a character in them.
        EditorState.lineSeparator.of('\n'),
        blameLines,
        byCharacter,
        colors,
        authors,
        tell,
        viewExtensions(t('Authors of {name}', { name: options.name })),
        EditorView.lineWrapping,
        language.extension(),
      ],
    }),
  })
}

export function mountBlameView(options: MountOptions): MountedEditor {
  const { container, document: opened, workspace } = options
  const language = new LanguageSlot()
  const status = makeStatus()
  container.classList.add('blame-pane')
  container.append(makeBar((is) => view.dispatch({ effects: setByCharacter.of(is) })))
  const view = makeView(options, status, language)
  container.append(status)
  view.dom.classList.add('blame-view')
  void language.load(view, options.name)
  let timer: ReturnType<typeof setTimeout> | undefined
  let isGone = false
  let notice: HTMLElement | null = null
  const refresh = async () => {
    try {
      const lines = await readBlame(workspace, options.path())
      if (isGone) return
      notice?.remove()
      const insert = lines.map(({ text }) => text.replace(/\r$/, '')).join('\n')
      const changes = { from: 0, to: view.state.doc.length, insert }
      const isSame = view.state.doc.toString() === insert
      view.dispatch({ ...(isSame ? {} : { changes }), effects: setLines.of(lines) })
    } catch (error) {
      if (isGone) return
      notice?.remove()
      const reason = (error as Error).message
      notice = makeNotice(t('The authors cannot be read now: {reason}', { reason }))
      options.notices.append(notice)
    }
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void refresh(), REFRESH_MS)
  }
  const retell = setInterval(() => {
    view.dispatch({ effects: setLines.of([...view.state.field(blameLines)]) })
  }, RETELL_MS)
  opened.doc.on('update', schedule)
  const stop = opened.savedState.subscribe((state) => {
    if (state === 'saved') schedule()
  })
  void refresh()
  return {
    focus: () => view.focus(),
    reveal: (line, column) => revealLine(view, line, column),
    rename: (name) => void language.load(view, name),
    setReadOnly: () => {},
    destroy: () => {
      isGone = true
      clearTimeout(timer)
      clearInterval(retell)
      stop()
      notice?.remove()
      opened.doc.off('update', schedule)
      container.classList.remove('blame-pane')
      view.destroy()
    },
  }
}
