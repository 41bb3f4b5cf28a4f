// The text of a file with the author of each line, read-only.

import { t } from '../language/translate'
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, gutter, GutterMarker, type DecorationSet } from '@codemirror/view'
import type { MountedEditor, MountOptions } from '../editors/mounted_editor'
import { makeNotice } from '../editors/notice'
import { LanguageSlot, revealLine, viewExtensions } from '../editors/text/setup'
import { actorInfo } from './actors'
import './history.css'
import { readBlame, type BlameLine } from './versions_api'

const REFRESH_MS = 500

const setLines = StateEffect.define<BlameLine[]>()

/** Returns the names of those who have a share in a line beside its author. */
function otherAuthors(line: BlameLine): string[] {
  const others = new Set(line.shares.map(({ actor }) => actor))
  others.delete(line.actor)
  return [...others].map((actor) => actorInfo(actor).name)
}

class AuthorMarker extends GutterMarker {
  constructor(
    private readonly line: BlameLine,
    private readonly isFirst: boolean,
  ) {
    super()
  }

  override eq(other: AuthorMarker): boolean {
    return (
      other.line.actor === this.line.actor &&
      other.line.at === this.line.at &&
      otherAuthors(other.line).join() === otherAuthors(this.line).join() &&
      other.isFirst === this.isFirst
    )
  }

  override toDOM(): HTMLElement {
    const { name, kind, title, color } = actorInfo(this.line.actor)
    const mark = document.createElement('span')
    mark.className = 'blame-author'
    mark.dataset['kind'] = kind
    mark.style.setProperty('--person', color)
    const when = this.line.at === null ? '' : `, ${new Date(this.line.at).toLocaleString()}`
    const others = otherAuthors(this.line)
    const shared = others.length === 0 ? '' : `; also ${others.join(', ')}`
    mark.title = `${name} (${title})${when}${shared}`
    const shown = this.isFirst ? `${kind === 'agent' ? '✦ ' : ''}${name}` : ''
    mark.textContent = others.length === 0 ? shown : `${shown}+`
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

const colors = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (set, tr) => {
    const effect = tr.effects.find((effect) => effect.is(setLines))
    if (effect === undefined) return set
    const builder = new RangeSetBuilder<Decoration>()
    for (const { line, actor } of effect.value as BlameLine[]) {
      if (line > tr.state.doc.lines) break
      const { from } = tr.state.doc.line(line)
      const style = `--person: ${actorInfo(actor).color}`
      builder.add(from, from, Decoration.line({ class: 'blame-line', attributes: { style } }))
    }
    return builder.finish()
  },
  provide: (field) => EditorView.decorations.from(field),
})

const authors = gutter({
  class: 'blame-gutter',
  lineMarker: (view, block) => {
    const number = view.state.doc.lineAt(block.from).number
    const lines = view.state.field(blameLines)
    const line = lines[number - 1]
    if (line === undefined) return null
    return new AuthorMarker(line, lines[number - 2]?.actor !== line.actor)
  },
  lineMarkerChange: (update) =>
    update.docChanged || update.startState.field(blameLines) !== update.state.field(blameLines),
})

export function mountBlameView(options: MountOptions): MountedEditor {
  const { container, document: opened, workspace } = options
  const language = new LanguageSlot()
  const view = new EditorView({
    parent: container,
    state: EditorState.create({
      extensions: [
        EditorState.readOnly.of(true),
        // The server's lines end in LF: a CR is a character in them.
        EditorState.lineSeparator.of('\n'),
        blameLines,
        colors,
        authors,
        viewExtensions(t('Authors of {name}', { name: options.name })),
        EditorView.lineWrapping,
        language.extension(),
      ],
    }),
  })
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
      notice = makeNotice(`The authors cannot be read now: ${(error as Error).message}`)
      options.notices.append(notice)
    }
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void refresh(), REFRESH_MS)
  }
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
      stop()
      notice?.remove()
      opened.doc.off('update', schedule)
      view.destroy()
    },
  }
}
