// What a program in TypeScript writes against this package: it is compiled, and never run.

import git from 'isomorphic-git'
import { Bash } from 'just-bash'
import * as Y from 'yjs'
import {
  type Change,
  type NodeFs,
  type OpenDocument,
  type WalkEntry,
  Workspace,
  YfsError,
} from 'yfs'
import { type Binding, bind } from 'yfs/yjs'

export async function consume(workspace: Workspace): Promise<unknown[]> {
  const fs: NodeFs = workspace.asNodeFs({ actor: 'agent:tool', cwd: '/docs' })
  const text: string = await fs.promises.readFile('plan.md', 'utf8')
  const bytes: Buffer = fs.readFileSync('/docs/plan.md')
  fs.readdir('/', { withFileTypes: true }, (error, entries) => error ?? entries[0]!.isFile())
  const handle = await fs.promises.open('/a', 'r+')
  const { bytesWritten }: { bytesWritten: number } = await handle.write('x')
  await git.init({ fs, dir: '/' })
  const bash = new Bash({ fs: workspace.asIFileSystem({ policy: 'collab' }) })
  const { stdout } = await bash.exec('ls')
  const opened: OpenDocument = await workspace.openDocument('/docs/plan.md')
  const binding: Binding = await bind(workspace, opened.guid, new Y.Doc())
  const all: WalkEntry[] = await workspace.files.walk('/')
  return [text, bytes, bytesWritten, stdout, binding, all]
}

export async function openEncrypted(): Promise<Workspace[]> {
  const byFile = await Workspace.open('/notes', { keyFile: '/home/ada/notes.key' })
  return [byFile, await Workspace.open('/plans', { passphrase: 'nine calm gauges' })]
}

export async function firstMove(): Promise<Change | undefined> {
  const workspace = await Workspace.open(':memory:', { actor: 'human:ada', profile: 'commonmark' })
  try {
    for await (const change of workspace.watch({ signal: AbortSignal.timeout(10) }))
      if (change.type === 'moved') return change
  } catch (error) {
    if (!(error instanceof YfsError && error.cursorLost)) throw error
  }
  return undefined
}
