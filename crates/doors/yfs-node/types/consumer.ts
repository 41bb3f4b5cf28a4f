// What a program in TypeScript writes against this package: it is compiled, and never run.

import git from 'isomorphic-git'
import { Bash } from 'just-bash'
import * as Y from 'yjs'
import {
  type Artifacts,
  type Change,
  contextText,
  type CsvDataType,
  type FileChunk,
  type NodeFs,
  type OpenDocument,
  type ReadFileStreamOptions,
  type StoredResult,
  type ThreadState,
  type WalkEntry,
  Workspace,
  YfsError,
} from 'yfs'
import { type Binding, bind } from 'yfs/yjs'

interface Row {
  place: string
}

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

export async function offload(workspace: Workspace, rows: Row[]): Promise<string> {
  const artifacts: Artifacts = workspace.artifacts({ preset: 'development', namespace: 'runs' })
  const call = { threadId: 'research', taskId: 'tides', toolCallId: '12' }
  const stored: StoredResult<Row[]> = await artifacts.store(rows, call)
  if ('Direct' in stored.content) return String(stored.content.Direct.result[0]?.place)
  const { metadata } = stored.content.FileReference
  if ('JsonArray' in metadata.stats) metadata.stats.JsonArray.length.toFixed()
  await artifacts.cleanUp({ maxAgeMs: 86_400_000, dryRun: true })
  const { results } = await workspace.files.query<Row>('/rows.json', '.[]', { cpuTimeMs: 2_000 })
  const { stats, preview } = await workspace.files.stats('/rows.csv', { preview: { tokens: 50 } })
  const types: CsvDataType[] = 'Csv' in stats ? stats.Csv.data_types : []
  const signal = AbortSignal.timeout(1_000)
  const { text } = await workspace.files.context({ include: ['*.md'], maxTokens: 500, signal })
  return [contextText(stored.content), results[0]?.place, preview, types.join(), text].join()
}

/** The method of section 8.1 of document 000. */
// prettier-ignore
interface FileStreams {
  readFileStream(
    path: string,
    options?: ReadFileStreamOptions
  ): Promise<AsyncIterable<FileChunk> | null>
}

export function streamsOf(state: ThreadState): FileStreams {
  return state
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
