// One open file: its bar, its notices, and the editor that its content needs now. When the content
// moves to another root (a rename to or from `.md`), the editor is replaced in place.

import { computed, effect, signal } from '@preact/signals'
import { h, render } from 'preact'
import {
  currentRoot,
  documentPool,
  type ContentRoot,
  type FileRow,
  type OpenDocument,
  type SavedState,
} from '../documents'
import { t } from '../language/translate'
import { readSelection } from '../documents/read_selection'
import { onSideTaken, takeSide } from '../trust/side'
import { EditorHeader, viewLabels, type EditorMode, type HeaderProps } from './editor_header'
import {
  fileState,
  pathOfRow,
  restoreFile,
  stateKey,
  trashedAncestor,
  type FileState,
} from './file_state'
import { HeldKeys } from './caret/held_keys'
import type { EditorHandle, FileView, OpenFile } from './index'
import type { EditorAction, MountedEditor, MountOptions } from './mounted_editor'
import { makeNotice, showBriefly } from './notice'
import { hasPreview, mountPreview, opensAsPreview } from './preview/previews'
import { openSymbolList } from './symbols/symbol_list'

const MODES: Partial<Record<FileState['kind'], EditorMode[]>> = {
  text: ['edit', 'blame'],
  richtext: ['edit', 'source', 'split', 'blame'],
}

/** Whether two sides are wide enough to be written in; a phone is not offered them. */
const hasRoom = () => !matchMedia('(max-width: 700px)').matches

/** Returns the views of a file in a state. */
function modesOf({ kind }: FileState, name: string): EditorMode[] {
  const modes = (MODES[kind] ?? []).filter((mode) => mode !== 'split' || hasRoom())
  return kind === 'text' && hasPreview(name) ? modes.toSpliced(1, 0, 'preview') : modes
}

interface AsideOptions {
  workspace: OpenFile['workspace']
  id: string
  document: OpenDocument
  path: () => string
  onClose: () => void
}

type MountAside = (container: HTMLElement, options: AsideOptions) => { destroy(): void }

/** The panels beside the content; one at a time. */
const ASIDES = {
  history: async (): Promise<MountAside> => {
    const { mountHistory } = await import('../history')
    return (container, options) => mountHistory({ container, ...options })
  },
  backlinks: async (): Promise<MountAside> => (await import('./backlinks')).mountBacklinks,
}
type AsideName = keyof typeof ASIDES

/** How long an editor takes at most to read what was composed. */
const READ_MS = 100

function element(className: string, parent: HTMLElement): HTMLElement {
  const made = document.createElement('div')
  made.className = className
  parent.append(made)
  return made
}

export class FileEditor implements EditorHandle {
  private readonly root: HTMLElement
  private readonly header: HTMLElement
  private readonly notices: HTMLElement
  private readonly content: HTMLElement
  private readonly side: HTMLElement
  private readonly outlineSide: HTMLElement
  readonly shown = signal<MountedEditor | null>(null)
  private readonly opened: OpenDocument
  private readonly contentRoot = signal<ContentRoot | null>(null)
  private readonly mode = signal<EditorMode>('edit')
  private readonly stops: (() => void)[] = []
  private readonly headerState: ReturnType<typeof signal<HeaderProps>>
  private mounted: MountedEditor | null = null
  /** The source beside the rich text. */
  private split: MountedEditor | null = null
  /** Counts changes of the split view: one that was overtaken while it was loading is dropped. */
  private nSplits = 0
  private mountedKey = ''
  private shownName: string | null = null
  /** What is typed while the editor of one root takes the place of the other one's. */
  private heldKeys: HeldKeys | null = null
  /** Until the editor has read what an input method composes. */
  private composed: Promise<unknown> = Promise.resolve()
  /** Counts mounts: one that was overtaken while its code was loading is dropped. */
  private nMounts = 0
  private wantsFocus = false
  private wantedLine: { line: number; column?: number } | null = null
  private wantedHeading: string | null = null
  private trashNotice: HTMLElement | null = null
  private refusalNotice: HTMLElement | null = null
  /** What is in the place beside the content. */
  private aside: { name: AsideName; destroy(): void } | null = null
  private lastPath: string

  constructor(private readonly file: OpenFile) {
    this.lastPath = file.path
    this.root = element('file-editor', file.container)
    // A key goes to where the one before it has put the caret.
    this.root.addEventListener('keydown', readSelection, true)
    this.root.addEventListener('compositionstart', () => {
      const ended = new Promise((resolve) =>
        this.root.addEventListener('compositionend', resolve, { once: true }),
      )
      this.composed = ended.then(() => new Promise((resolve) => setTimeout(resolve, READ_MS)))
    })
    this.header = element('editor-header', file.head ?? this.root)
    this.notices = element('editor-notices', this.root)
    const body = element('editor-body', this.root)
    this.outlineSide = element('editor-outline', body)
    this.outlineSide.hidden = true
    this.content = element('editor-content', body)
    this.side = element('editor-side', body)
    this.side.hidden = true
    this.opened = documentPool(file.workspace).acquire(file.id)
    if (file.at !== undefined) this.wantedLine = file.at
    else if (opensAsPreview(file.path)) this.mode.value = 'preview'
    this.headerState = signal(this.headerProps([]))
    render(h(EditorHeader, { state: this.headerState as never }), this.header)
    addEventListener('keydown', this.onKey)
    this.stops.push(() => removeEventListener('keydown', this.onKey))
    this.observe()
    this.watchReading()
  }

  /** The keys of the open file work wherever the focus is, but not below a dialog. */
  private readonly onKey = (event: KeyboardEvent): void => {
    const isOther = event.defaultPrevented || document.querySelector('dialog[open]') !== null
    if (isOther || !(event.ctrlKey || event.metaKey) || event.altKey) return
    const { modes, mode } = this.headerState.peek() as HeaderProps
    const isBackslash = event.key === '\\' || event.code === 'Backslash'
    if (event.shiftKey && event.key.toLowerCase() === 'o' && this.mounted?.symbols) {
      event.preventDefault()
      this.showSymbols()
    } else if (!event.shiftKey && isBackslash && modes.includes('split')) {
      event.preventDefault()
      this.mode.value = mode === 'split' ? 'edit' : 'split'
    }
  }

  private showSymbols(): void {
    const read = this.mounted?.symbols?.()
    if (read !== undefined) openSymbolList(read)
  }

  focus(): void {
    if (this.mounted === null) this.wantsFocus = true
    else this.mounted.focus()
  }

  reveal(line: number, column?: number): void {
    if (this.split !== null) return this.split.reveal(line, column)
    // Lines are those of the text.
    const isOther = this.mode.peek() === 'preview' && opensAsPreview(this.path())
    const isWaiting = this.mounted === null || this.mountedKey.startsWith('loading')
    if (isOther || isWaiting) this.wantedLine = column === undefined ? { line } : { line, column }
    else this.mounted?.reveal(line, column)
    if (isOther) this.mode.value = 'edit'
  }

  revealHeading(slug: string): void {
    this.wantedHeading = this.mounted?.revealHeading?.(slug) === true ? null : slug
  }

  destroy(): void {
    this.nMounts += 1
    for (const stop of this.stops) stop()
    this.closeSplit()
    this.aside?.destroy()
    render(null, this.outlineSide)
    this.mounted?.destroy()
    render(null, this.header)
    this.header.remove()
    this.root.remove()
    documentPool(this.file.workspace).release(this.file.id)
  }

  private get row(): FileRow | undefined {
    return this.file.workspace.rows.value.get(this.file.id)
  }

  private get isReadOnly(): boolean {
    const { workspace, id } = this.file
    return workspace.readOnly || trashedAncestor(workspace.rows.peek(), id) !== null
  }

  private readonly path = (): string => {
    const { workspace, id } = this.file
    this.lastPath = workspace.pathOf?.(id) ?? pathOfRow(workspace.rows.peek(), id) ?? this.lastPath
    return this.lastPath
  }

  private observe(): void {
    const { workspace, id } = this.file
    const { doc, isLoaded } = this.opened
    const updateRoot = () => {
      const row = workspace.rows.peek().get(id)
      this.contentRoot.value =
        row !== undefined && isLoaded.peek() ? currentRoot(doc, row.name) : null
    }
    const settlements = doc.getMap('fs:conv')
    // When the editor of the former root has applied what came with the settlement.
    const afterTransaction = ({ changed }: { changed: Map<unknown, unknown> }) => {
      if (changed.has(settlements)) updateRoot()
    }
    doc.on('afterTransaction', afterTransaction)
    this.stops.push(() => doc.off('afterTransaction', afterTransaction))
    const trashed = computed(() => trashedAncestor(workspace.rows.value, id))
    const readOnly = computed(() => workspace.readOnly || trashed.value !== null)
    this.stops.push(
      effect(() => {
        void isLoaded.value
        void this.row?.name
        updateRoot()
      }),
      effect(() => this.showTrashed(trashed.value)),
      effect(() => {
        const value = readOnly.value
        this.mounted?.setReadOnly(value)
        this.split?.setReadOnly(value)
      }),
      effect(() => this.update(fileState(this.row, this.contentRoot.value), readOnly.peek())),
      effect(() => this.showRefusal()),
      onSideTaken('history', () => {
        this.closeAside()
      }),
    )
  }

  /** Says what others change in what is read here. */
  private watchReading(): void {
    let stop: (() => void) | null = null
    let isGone = false
    this.stops.push(
      () => {
        isGone = true
        stop?.()
      },
      effect(() => {
        if (stop !== null || this.contentRoot.value === null) return
        const { workspace, id } = this.file
        const { path, opened, notices, content } = this
        void import('../trust/reading_watch').then(({ watchReading }) => {
          if (isGone || stop !== null) return
          stop = watchReading({ workspace, id, path, document: opened, notices, content })
        })
      }),
    )
  }

  /** Replaces the editor if the state needs another one. */
  private update(state: FileState, readOnly: boolean): void {
    const name = this.row?.name ?? this.shownName ?? ''
    const modes = modesOf(state, name)
    const mode = modes.includes(this.mode.value) ? this.mode.value : 'edit'
    // The rich text stays as it is when its source comes beside it.
    const mounts = mode === 'split' ? 'edit' : mode
    const key = `${stateKey(state)} ${mounts}`
    if (mode !== 'split' || key !== this.mountedKey) this.closeSplit()
    const isRenamed = this.shownName !== null && this.shownName !== name
    const wasContent = MODES[this.mountedKey.split(' ')[0] as FileState['kind']] !== undefined
    this.headerState.value = this.headerProps(modes, mode)
    if (key === this.mountedKey) {
      if (isRenamed) for (const editor of [this.mounted, this.split]) editor?.rename(name)
      this.shownName = name
      if (mode === 'split') void this.openSplit()
      return
    }
    const isSwap =
      wasContent && modes.length > 0 && stateKey(state) !== this.mountedKey.split(' ')[0]
    this.wantsFocus ||= this.content.contains(document.activeElement)
    const former = isSwap && mounts === 'edit' ? this.mounted : null
    if (former?.selection === undefined) this.unmount()
    else {
      this.nMounts += 1
      this.heldKeys ??= new HeldKeys(this.content)
    }
    this.mountedKey = key
    this.shownName = name
    if (isSwap) {
      // The content can move before this browser knows the new name: the message says no name.
      const news =
        state.kind === 'richtext'
          ? t('The file was renamed: the editor shows it as rich text now.')
          : t('The file was renamed: the editor shows it as plain text now.')
      showBriefly(this.notices, news)
    }
    void this.mount(state, mounts, name, readOnly)
  }

  private remount(): void {
    this.unmount()
    this.mountedKey = ''
    this.update(fileState(this.row, this.contentRoot.peek()), this.file.workspace.readOnly)
  }

  private unmount(): void {
    this.nMounts += 1
    this.closeSplit()
    this.heldKeys?.release()
    this.heldKeys = null
    this.shown.value = null
    this.mounted?.destroy()
    this.mounted = null
    this.content.replaceChildren()
    this.root.removeAttribute('data-editor')
  }

  private async mount(
    state: FileState,
    mode: EditorMode,
    name: string,
    readOnly: boolean,
  ): Promise<void> {
    const mount = this.nMounts
    const container = element('editor-pane', this.content)
    const options: MountOptions = { ...this.mountOptions(name, readOnly), container }
    let mounted: MountedEditor
    try {
      mounted = await this.create(state, mode, options)
    } catch (error) {
      if (mount !== this.nMounts) return
      this.unmount()
      this.showFailure(error)
      return
    }
    await this.composed
    if (mount !== this.nMounts) {
      mounted.destroy()
      container.remove()
      return
    }
    this.replaceFormer(mounted)
    this.showHeader()
    const { mode: shown } = this.headerState.peek() as HeaderProps
    this.root.dataset['editor'] = mode === 'edit' ? state.kind : mode
    if (this.wantsFocus) mounted.focus()
    // What only says that the content is on its way leaves both to the editor that follows.
    if (state.kind !== 'loading') {
      if (this.wantedLine !== null) mounted.reveal(this.wantedLine.line, this.wantedLine.column)
      if (this.wantedHeading !== null) mounted.revealHeading?.(this.wantedHeading)
      this.wantedHeading = null
      this.wantedLine = null
      this.wantsFocus = false
    }
    mounted.setReadOnly(this.isReadOnly)
    if (shown === 'split') void this.openSplit()
  }

  private mountOptions(name: string, readOnly: boolean): Omit<MountOptions, 'container'> {
    const { workspace, id } = this.file
    return {
      workspace,
      id,
      name,
      notices: this.notices,
      document: this.opened,
      readOnly,
      remount: () => this.remount(),
      path: this.path,
    }
  }

  /** Shows the source beside the rich text. */
  private async openSplit(): Promise<void> {
    const rich = this.mounted?.richView
    if (rich === undefined || this.split !== null) return
    this.nSplits += 1
    const opening = this.nSplits
    const isOvertaken = () => opening !== this.nSplits
    const options = this.mountOptions(this.shownName ?? '', this.isReadOnly)
    try {
      const { mountSplitSource } = await import('./markdown/split/split_source')
      const pane = rich.dom.closest<HTMLElement>('.editor-pane')
      if (isOvertaken() || pane === null) return
      const split = await mountSplitSource({ ...options, rich, pane, isOvertaken })
      if (split === null) return
      if (isOvertaken()) return split.destroy()
      this.split = split
      split.setReadOnly(this.isReadOnly)
      this.showHeader()
    } catch (error) {
      if (!isOvertaken()) this.showFailure(error)
    }
  }

  private closeSplit(): void {
    this.nSplits += 1
    if (this.split === null) return
    this.split.destroy()
    this.split = null
    this.showHeader()
  }

  /** Says anew in the head what is shown. */
  private showHeader(): void {
    const { modes, mode } = this.headerState.peek() as HeaderProps
    this.headerState.value = this.headerProps(modes, mode)
  }

  /** Ends the editor before this one, if it is still there, and goes on where its caret was. */
  private replaceFormer(mounted: MountedEditor): void {
    const former = this.mounted
    this.mounted = mounted
    this.shown.value = mounted
    if (former === null) return
    readSelection()
    const selection = former.selection?.()
    const keys = this.heldKeys?.release() ?? []
    this.heldKeys = null
    former.destroy()
    this.content.firstElementChild?.remove()
    if (this.wantsFocus) mounted.focus()
    if (selection !== undefined) mounted.takeOver?.(selection, keys)
  }

  private async create(
    state: FileState,
    mode: EditorMode,
    options: MountOptions,
  ): Promise<MountedEditor> {
    if (mode === 'blame') return (await import('../history/blame_view')).mountBlameView(options)
    if (mode === 'preview') return mountPreview(options)
    if (mode === 'source') {
      return (await import('./markdown/source_view')).mountSourceView(options)
    }
    switch (state.kind) {
      case 'text':
        return (await import('./text/text_editor')).mountTextEditor(options)
      case 'richtext':
        return (await import('./markdown/markdown_editor')).mountMarkdownEditor(options)
      case 'blob':
        return this.mountBlob(options)
      default:
        return mountMessage(options.container, state, options.document)
    }
  }

  private async mountBlob(options: MountOptions): Promise<MountedEditor> {
    const { mountBlobView } = await import('./blob/blob_view')
    const row = this.file.workspace.rows.peek().get(this.file.id)
    if (row === undefined) {
      return mountMessage(options.container, { kind: 'gone' }, options.document)
    }
    const view = mountBlobView({ ...options, row })
    return { reveal: () => {}, rename: () => {}, setReadOnly: () => {}, ...view }
  }

  private showFailure(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const notice = makeNotice(t('The editor could not start: {reason}', { reason: message }), {
      label: t('Try again'),
      run: () => {
        notice.remove()
        this.remount()
      },
    })
    this.notices.append(notice)
  }

  private showTrashed(trashed: FileRow | null): void {
    this.trashNotice?.remove()
    this.trashNotice = null
    if (trashed === null) return
    const { workspace } = this.file
    const restore = {
      label: t('Restore'),
      run: () => {
        restoreFile(workspace, trashed.id).catch((error: unknown) =>
          showBriefly(
            this.notices,
            t('Not restored: {reason}', { reason: (error as Error).message }),
          ),
        )
      },
    }
    const actions = workspace.readOnly ? [] : [restore]
    this.trashNotice = makeNotice(
      trashed.id === this.file.id
        ? t('This file is in the trash.')
        : t('The folder {name} is in the trash.', { name: trashed.name }),
      ...actions,
    )
    this.trashNotice.classList.add('is-trashed')
    this.notices.prepend(this.trashNotice)
  }

  private showRefusal(): void {
    const refused = this.opened.refused.value
    this.refusalNotice?.remove()
    this.refusalNotice = null
    if (refused === null) return
    const reason = refused.reason === '' ? `code ${refused.code}` : refused.reason
    this.refusalNotice = makeNotice(t('The server closed this file: {reason}.', { reason }))
    this.notices.append(this.refusalNotice)
  }

  private headerProps(modes: EditorMode[], mode: EditorMode = 'edit'): HeaderProps {
    return {
      opened: this.opened,
      ownState: (this.split ?? this.mounted)?.savedState ?? null,
      name: this.row?.name ?? this.shownName ?? '',
      modes,
      mode,
      showsHistory: this.aside?.name === 'history',
      onMode: (chosen) => {
        this.mode.value = chosen
      },
      onHistory: () => this.toggleHistory(),
    }
  }

  listViews(): FileView[] {
    const { name: fileName, modes, mode } = this.headerState.peek() as HeaderProps
    if (modes.length < 2) return []
    const labels = viewLabels(fileName)
    return modes.map((name) => ({
      label: labels[name],
      isShown: name === mode,
      show: () => (this.mode.value = name),
    }))
  }

  /** Returns what a person can do in the file now. */
  actions(): EditorAction[] {
    const { mounted } = this
    const actions: EditorAction[] = []
    if (mounted?.outline !== undefined) {
      const isOn = !this.outlineSide.hidden
      const run = () => this.toggleOutline()
      actions.push({ id: 'outline', label: t('Outline'), isOn, run })
    }
    actions.push({
      id: 'backlinks',
      label: t('Links to this file'),
      isOn: this.aside?.name === 'backlinks',
      run: () => void this.switchAside('backlinks'),
    })
    if (mounted?.symbols !== undefined) {
      const run = () => this.showSymbols()
      actions.push({ id: 'symbols', label: t('Go to a symbol'), keys: 'Ctrl+Shift+O', run })
    }
    return [...actions, ...(mounted?.actions?.() ?? [])]
  }

  toggleOutline(): void {
    void this.switchOutline()
  }

  private async switchOutline(): Promise<void> {
    const { OutlinePanel } = await import('./outline_panel')
    const isShown = this.outlineSide.hidden
    this.outlineSide.hidden = !isShown
    const props = { shown: this.shown, onClose: () => this.toggleOutline() }
    render(isShown ? h(OutlinePanel, props) : null, this.outlineSide)
  }

  toggleHistory(): void {
    void this.switchAside('history')
  }

  /** Shows a panel beside the content, or closes it if it is there. */
  private async switchAside(name: AsideName): Promise<void> {
    const isShown = this.aside?.name === name
    this.closeAside()
    if (isShown) return
    const mount = await ASIDES[name]()
    if (!this.root.isConnected) return
    this.closeAside()
    takeSide('history')
    const { workspace, id } = this.file
    this.side.hidden = false
    const onClose = () => this.closeAside()
    const options = { workspace, id, document: this.opened, path: this.path, onClose }
    this.aside = { name, ...mount(this.side, options) }
    this.showHeader()
  }

  private closeAside(): void {
    if (this.aside === null) return
    this.aside.destroy()
    this.aside = null
    this.side.hidden = true
    this.showHeader()
  }
}

function messageOf(state: FileState, saved: SavedState): string {
  switch (state.kind) {
    case 'link':
      return t('This is a symbolic link to {target}.', { target: state.target })
    case 'gone':
      return t('This file does not exist any more.')
    case 'directory':
      return t('This is a folder.')
    case 'loading':
      return saved === 'absent'
        ? t('This file was not opened in this browser before. It is shown when the server is back.')
        : t('Loading…')
    default:
      return ''
  }
}

function mountMessage(
  container: HTMLElement,
  state: FileState,
  opened: OpenDocument,
): MountedEditor {
  const message = document.createElement('p')
  message.className = 'editor-message'
  message.tabIndex = -1
  const stop = effect(() => {
    message.textContent = messageOf(state, opened.savedState.value)
  })
  container.append(message)
  return {
    focus: () => message.focus(),
    reveal: () => {},
    rename: () => {},
    setReadOnly: () => {},
    destroy: () => {
      stop()
      message.remove()
    },
  }
}
