// The editor of a markdown file: front matter, then the rich text in the workspace's profile.

import { TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type * as Y from 'yjs'
import { t } from '../../language/translate'
import { mountFrontMatter } from '../front_matter/front_matter_panel'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import { makeNotice } from '../notice'
import { bindView } from './bind_view'
import { changeProblem, fragmentProblem } from './check_fragment'
import { DocumentOutline } from './format/outline'
import { richSelection, takeOverRich } from './rich_caret'
import type { RichView } from './rich_view'

async function createView(profile: string, root: HTMLElement): Promise<RichView> {
  if (profile === 'commonmark') {
    const { createCommonmarkView } = await import('./commonmark_view')
    return createCommonmarkView(root)
  }
  const { createGfmView } = await import('./gfm_view')
  return createGfmView(root)
}

/** Returns about what the page shows of a line: no address of a link, no image, no footnote. */
const shownText = (line: string) =>
  line
    .replace(/!\[[^\]]*\]\([^)]*\)|\[\^[^\]]*\]:?/g, ' ')
    .replace(/\]\((?:<[^>]*>|[^\s()<]|\([^()]*\))*(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/g, ']')

/**
 * Moves the cursor to a line of the file. The tree has no lines: this finds the block that contains
 * the text of the line.
 */
async function revealInTree(view: EditorView, options: MountOptions, line: number): Promise<void> {
  const { readSource } = await import('./read_source')
  const lines = (await readSource(options.workspace, options.path()))!.text.split('\n')
  const plain = (text: string) => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
  const wanted = plain(shownText(lines[line - 1] ?? ''))
  if (wanted === '') return
  const before = lines.slice(0, line - 1).map((other) => plain(shownText(other)))
  const nth = before.filter((other) => other === wanted).length
  const places: number[] = []
  view.state.doc.descendants((node, at) => {
    if (node.isTextblock && plain(node.textContent).includes(wanted)) places.push(at + 1)
    return !node.isTextblock
  })
  const place = places[Math.min(nth, places.length - 1)]
  if (place === undefined) return
  const selection = TextSelection.near(view.state.doc.resolve(place))
  view.dispatch(view.state.tr.setSelection(selection).scrollIntoView())
}

export async function mountMarkdownEditor(options: MountOptions): Promise<MountedEditor> {
  const { container, document: opened, workspace, name } = options
  const page = document.createElement('div')
  page.className = 'rich-page'
  const front = document.createElement('div')
  const root = document.createElement('div')
  root.className = 'rich-text'
  page.append(front, root)
  const rich = await createView(workspace.profile, root)
  const fragment = opened.doc.getXmlFragment('richtext')
  const problem = fragmentProblem(fragment, rich.view.state.schema)
  if (problem !== null) {
    rich.destroy()
    options.notices.append(
      makeNotice(
        t('This editor cannot show all of the file ({problem}): its source is read-only.', {
          problem,
        }),
      ),
    )
    const { mountSourceView } = await import('./source_view')
    return mountSourceView({ ...options, isFixed: true })
  }
  container.append(page)
  let readOnly = options.readOnly
  const { view } = rich
  view.dom.setAttribute('aria-label', `Text of ${name}`)
  view.dom.setAttribute('role', 'textbox')
  view.dom.setAttribute('aria-multiline', 'true')
  view.dom.spellcheck = true
  view.setProps({ editable: () => !readOnly })
  // Before the binding observes the fragment: it deletes what it cannot build as soon as it sees it.
  const guard = (events: Y.YEvent<Y.AbstractType<unknown>>[], { local }: Y.Transaction) => {
    if (!local && changeProblem(events, fragment, view.state.schema) !== null) options.remount()
  }
  fragment.observeDeep(guard as never)
  const unbind = bindView(rich, fragment, options)
  const frontMatter = mountFrontMatter(front, options)
  const outline = new DocumentOutline(view, opened.doc)
  return {
    focus: () => view.focus(),
    reveal: (line) => void revealInTree(view, options, line),
    rename: () => {},
    setReadOnly: (value) => {
      readOnly = value
      view.setProps({ editable: () => !readOnly })
      frontMatter.setReadOnly(value)
    },
    selection: () => richSelection(view),
    takeOver: (former, keys) => takeOverRich(view, former, keys),
    richView: view,
    outline: outline.outline,
    counts: outline.counts,
    revealHeading: (id) => outline.reveal(id),
    symbols: async () => outline.symbols(),
    actions: () => rich.actions?.() ?? [],
    destroy: () => {
      outline.destroy()
      fragment.unobserveDeep(guard as never)
      rich.destroy()
      unbind()
      frontMatter.destroy()
      page.remove()
    },
  }
}
