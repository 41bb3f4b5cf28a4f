// The package: a filesystem that people in editors, agents in shells and tools change at the same
// time.

export { Artifacts, contextText, extractContext, resultOf } from './artifacts.js'
export type {
  ArtifactIds,
  ArtifactMetrics,
  ArtifactsOptions,
  CleanupPolicy,
  CleanupReport,
  FileMetadata,
  FileReference,
  StoredArtifact,
  StoredResult,
  ToolResponse,
  ToolResponseContent,
} from './artifacts.js'
export type {
  BinaryStats,
  ContentStats,
  ContextOptions,
  CsvDataType,
  CsvStats,
  FileAnalysis,
  HtmlStats,
  JsonArrayStats,
  JsonSchema,
  JsonStats,
  JsonType,
  MarkdownStats,
  PreviewLimit,
  PreviewOptions,
  QueryOptions,
  QueryResults,
  RenderedContext,
  StatsOptions,
  TextStats,
  TextStructure,
} from './descriptions.js'
export { Port, type UpdateListener } from './document.js'
export { YfsError } from './errors.js'
export { Files } from './files.js'
export type { NodeFs, NodeFsOptions } from './nodefs.js'
export {
  type DirectoryShare,
  type Peer,
  type PeerEvent,
  Peers,
  type PeersOptions,
  type SharedCode,
  type ShareOptions,
  type Ticket,
} from './peers.js'
export { ShellFs, type ShellOptions } from './shell.js'
export { ThreadState, Threads } from './threads.js'
export type {
  ArchivedThread,
  ExternalFile,
  FileChunk,
  FileData,
  FileMatches,
  FileRecord,
  FileSource,
  FileStats,
  FoundMatches,
  GrepFilesOptions,
  ReadFileStreamOptions,
  Retention,
  RetentionReport,
  ThreadInfo,
  ThreadsOptions,
  Thumbnail,
} from './threads.js'
export type * from './types.js'
export { type JoinOptions, Workspace, type OpenDocument } from './workspace.js'
