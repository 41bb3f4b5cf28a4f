// Binds a document of a workspace to a `Y.Doc`, which any provider or editor may be bound to as
// well.

import * as Y from 'yjs'
import type { Port } from './document.js'
import type { Workspace } from './workspace.js'

/** A binding: the `Y.Doc` and the workspace have what the other has. */
export interface Binding {
  /** Resolves once everything that was typed until now is in the log. */
  settled(): Promise<void>
  /** Ends it; both keep what they have. */
  close(): Promise<void>
}

/** Binds a `Y.Doc` to the document of a guid: that of a file, or the workspace's own. */
export async function bind(
  workspace: Workspace,
  guid: string,
  doc: Y.Doc,
  options: { actor?: string } = {},
): Promise<Binding> {
  const port = await workspace.openPort(guid, options)
  const binding = new DocBinding(port, doc)
  await binding.start()
  return binding
}

class DocBinding implements Binding {
  readonly #port: Port
  readonly #doc: Y.Doc
  #sent: Promise<void> = Promise.resolve()
  #failure: unknown

  constructor(port: Port, doc: Y.Doc) {
    this.#port = port
    this.#doc = doc
  }

  async start(): Promise<void> {
    this.#port.on('update', (update) => {
      if (update === null) void this.#catchUp()
      else Y.applyUpdate(this.#doc, update, this)
    })
    this.#doc.on('update', this.#changed)
    await this.#catchUp()
    const lacking = Y.encodeStateAsUpdate(this.#doc, await this.#port.stateVector())
    await this.#port.applyUpdate(lacking)
  }

  async settled(): Promise<void> {
    await this.#sent
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- what a caller's port threw
    if (this.#failure !== undefined) throw this.#failure
  }

  async close(): Promise<void> {
    this.#doc.off('update', this.#changed)
    await this.#sent
    this.#port.close()
  }

  readonly #changed = (update: Uint8Array, origin: unknown): void => {
    if (origin === this) return
    // One after the other, so that the log has them in the order of the typing.
    this.#sent = this.#sent
      .then(() => this.#port.applyUpdate(update))
      .catch((error) => {
        this.#failure ??= error
      })
  }

  async #catchUp(): Promise<void> {
    Y.applyUpdate(this.#doc, await this.#port.diff(Y.encodeStateVector(this.#doc)), this)
  }
}
