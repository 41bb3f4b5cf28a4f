// Marks of changed lines in one view: loaded when they are wanted, without a trace else.

import { effect } from '@preact/signals'
import { Compartment, Text, type Extension } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import { plural, t } from '../../language/translate'
import type { MenuItems } from '../../look/menu'
import { changedBase, changedLines, type ChangedBase } from '../../settings/settings'
import type { EditorAction, MountOptions } from '../mounted_editor'
import { showBriefly } from '../notice'
import type { StatusPart } from '../status_line'

type Loaded = typeof import('../changed_lines')

const baseNames = (): Record<ChangedBase, string> => ({
  opened: t('Since the file was opened here'),
  version: t('Since the version before'),
  others: t('Since the last version of another author'),
})

export class ChangedLinesSlot {
  private readonly slot = new Compartment()
  private loaded: Loaded | null = null
  private opened: Text = Text.empty
  private stop: () => void = () => {}
  /** Counts choices: one that was overtaken while its version was read is dropped. */
  private nChoices = 0

  constructor(private readonly options: MountOptions) {}

  extension(): Extension {
    return this.slot.of([])
  }

  /** Follows the settings; `onChange` is called after the marks came or went. */
  start(view: EditorView, onChange: () => void): void {
    this.opened = view.state.doc
    this.stop = effect(() => {
      const isOn = changedLines.value === 'on'
      const base = changedBase.value
      this.nChoices += 1
      if (!isOn && this.loaded === null) return
      void this.show(view, isOn ? base : null, this.nChoices).then(onChange)
    })
  }

  destroy(): void {
    this.nChoices += 1
    this.stop()
  }

  actions(view: EditorView): EditorAction[] {
    const isOn = changedLines.peek() === 'on'
    const turn = () => void (changedLines.value = isOn ? 'off' : 'on')
    const actions: EditorAction[] = [
      { id: 'changed-lines', label: t('Changed lines'), isOn, run: turn },
    ]
    const { loaded } = this
    if (!isOn || loaded === null) return actions
    const run = (command: (view: EditorView) => void) => () => command(view)
    return [
      ...actions,
      {
        id: 'next-change',
        label: t('Next change'),
        keys: 'Alt+F5',
        run: run((view) => loaded.stepChange(view, 1)),
      },
      {
        id: 'previous-change',
        label: t('Previous change'),
        keys: 'Shift+Alt+F5',
        run: run((view) => loaded.stepChange(view, -1)),
      },
      {
        id: 'show-change',
        label: t('Show what was changed in this line'),
        keys: 'Alt+F3',
        run: run(loaded.showHere),
      },
    ]
  }

  /** Returns the part of the status line; none while the marks are off. */
  statusParts(view: EditorView): StatusPart[] {
    if (changedLines.peek() === 'off' || this.loaded === null) return []
    const n = this.loaded.chunksOf(view.state).length
    return [{ label: plural(n, '1 change', '{n} changes'), choices: () => this.choices(view) }]
  }

  private choices(view: EditorView): MenuItems {
    const bases = Object.entries(baseNames()) as [ChangedBase, string][]
    const [turn, ...rest] = this.actions(view)
    return [
      ...bases.map(([base, label]) => ({
        label,
        isChecked: changedBase.peek() === base,
        run: () => void (changedBase.value = base),
      })),
      null,
      // After the menu has given the focus back.
      ...rest.map(({ label, keys, run }) => ({
        label,
        ...(keys !== undefined && { keys }),
        run: () => queueMicrotask(run),
      })),
      null,
      { label: turn!.label, isChecked: true, run: turn!.run },
    ]
  }

  private async show(view: EditorView, base: ChangedBase | null, choice: number): Promise<void> {
    if (base === null) return view.dispatch({ effects: this.slot.reconfigure([]) })
    const loaded = await import('../changed_lines')
    const text = base === 'opened' ? this.opened : await this.read(loaded, base)
    if (choice !== this.nChoices) return
    this.loaded = loaded
    if (view.state.field(loaded.comparison, false) === undefined) {
      view.dispatch({ effects: this.slot.reconfigure(loaded.changedLinesExtension()) })
    }
    view.dispatch({ effects: loaded.setBase.of(text) })
  }

  private async read(loaded: Loaded, base: ChangedBase): Promise<Text> {
    const { workspace, path, notices } = this.options
    try {
      const text = await loaded.readBase(workspace, path(), base)
      if (text !== null) return Text.of(text.split(/\r\n?|\n/))
      showBriefly(notices, t('There is no such version: the lines that changed here are marked.'))
    } catch (failure) {
      const reason = (failure as Error).message
      showBriefly(notices, t('The version could not be read: {reason}', { reason }))
    }
    return this.opened
  }
}
