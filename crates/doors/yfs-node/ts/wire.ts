// The JSON that the native half of this package exchanges with it. Generated from the Rust types of
// the crate yfs-wire by `just wire`; do not edit.

/**
 * A time in milliseconds since the Unix epoch.
 */
export type UnixMillis = number;

/**
 * The kind of a node of the tree.
 */
export type Kind = "file" | "directory" | "symlink";

/**
 * The result of writing a file.
 */
export type Written = {
  /**
   * The id of the file.
   */
  id: string,
  /**
   * The version of the stored content, if the caller knows that content. Absent otherwise: the
   * caller must read the file before it writes with a version.
   */
  version?: string,
  /**
   * Whether the file may contain changes of others that the caller has not read.
   */
  merged: boolean,
  /**
   * The size of the file afterwards, in bytes.
   */
  size: number,
  /**
   * Whether the write created the file.
   */
  created: boolean,
  /**
   * Ranges where this write changed text that another writer had changed since the base.
   */
  overlaps: Array<Overlap>,
}

/**
 * A range that two writers changed concurrently; both changes are in the file.
 */
export type Overlap = {
  /**
   * The offset of the range in the file after the write, in bytes.
   */
  offset: number,
  /**
   * The length of the range, in bytes.
   */
  length: number,
  /**
   * The other writer, if known.
   */
  actor: string | null,
}

/**
 * The result of replacing text in a file.
 */
export type Edited = {
  /**
   * The number of replaced occurrences.
   */
  replaced: number,
  /**
   * Whether the file may contain changes of others that the caller has not read.
   */
  merged: boolean,
  /**
   * The version of the stored content, if the caller named the version that it edited. Absent
   * otherwise.
   */
  version?: string,
}

/**
 * What happened to a node.
 */
export type ChangeType = "created" | "changed" | "moved" | "removed";

/**
 * A change of a node.
 */
export type ChangeEvent = {
  /**
   * What happened to the node.
   */
  type: ChangeType,
  /**
   * The path of the node after the change; of a removed node the path before.
   */
  path: string,
  /**
   * The path before, if the node moved.
   */
  from: string | null,
  /**
   * The id of the node, which moves and renames keep.
   */
  id: string,
  /**
   * The kind of the node.
   */
  kind: Kind,
  /**
   * The author, if known.
   */
  actor: string | null,
  /**
   * The time of the change.
   */
  at: UnixMillis,
}

/**
 * The reason why a search ended early.
 */
export type SearchLimit = "limit" | "deadline" | "cancelled";

/**
 * A line that matches a pattern, or one near it.
 */
export type GrepLine = {
  /**
   * The number of the line, from 1.
   */
  line: number,
  /**
   * The text of the line, without its newline.
   */
  text: string,
  /**
   * The ranges that match, in bytes of `text`: start and end.
   */
  matches: Array<[number, number]>,
  /**
   * Whether the line matches; otherwise it is context.
   */
  isMatch: boolean,
  /**
   * Whether `text` is only a part of the line.
   */
  cut: boolean,
}

/**
 * The lines of one file.
 */
export type GrepFile = {
  /**
   * The path of the file.
   */
  path: string,
  /**
   * The id of the file.
   */
  id: string,
  /**
   * The lines that were found.
   */
  lines: Array<GrepLine>,
  /**
   * Whether the limit of lines per file ended the search in this file.
   */
  cut: boolean,
}

/**
 * The counts of a search.
 */
export type GrepTotals = {
  /**
   * The number of matching lines.
   */
  matches: number,
  /**
   * The number of files that were searched.
   */
  searched: number,
  /**
   * The number of files that were skipped because they are not text.
   */
  binary: number,
  /**
   * The paths of the first 20 of these files.
   */
  binaryPaths: Array<string>,
  /**
   * The number of files that were skipped because of their size.
   */
  tooLarge: number,
  /**
   * The number of files that could not be read.
   */
  unreadable: number,
  /**
   * The reason why the search ended early.
   */
  cut: SearchLimit | null,
}

/**
 * Some lines of a file.
 */
export type LinePage = {
  /**
   * The lines, without their newlines.
   */
  lines: Array<string>,
  /**
   * The number of the first line, from 0.
   */
  offset: number,
  /**
   * The number of lines of the file, if known.
   */
  total: number | null,
  /**
   * The offset of the next page; null if this page reaches the end.
   */
  next: number | null,
  /**
   * Whether a newline follows the last line of the page.
   */
  endsWithNewline: boolean,
  /**
   * The version of the content.
   */
  version: string,
}

/**
 * A version of a file.
 */
export type Version = {
  /**
   * The number, from 1.
   */
  number: number,
  /**
   * The time of the first change of the version.
   */
  at: UnixMillis,
  /**
   * The author, if known.
   */
  actor: string | null,
  /**
   * The label of the author's session.
   */
  label: string | null,
  /**
   * The names that users gave to the version.
   */
  names: Array<string>,
  /**
   * Whether content of the version was erased.
   */
  redacted: boolean,
  /**
   * Whether it is the current content.
   */
  current: boolean,
}

/**
 * A line of a file and its author: the one that edited it last.
 */
export type BlameLine = {
  /**
   * The number of the line, from 1.
   */
  line: number,
  /**
   * The text of the line.
   */
  text: string,
  /**
   * The author, if known.
   */
  actor: string | null,
  /**
   * The time of the author's edit.
   */
  at: UnixMillis | null,
  /**
   * The version that contains the edit.
   */
  version: number | null,
  /**
   * All authors of the line.
   */
  shares: Array<BlameShare>,
}

/**
 * A change of a file or directory.
 */
export type LogEntry = {
  /**
   * The time of the change, by the clock of its author.
   */
  at: UnixMillis,
  /**
   * The present path; of what is in the trash, the former one.
   */
  path: string,
  /**
   * The id of the node, which moves and renames keep.
   */
  id: string,
  /**
   * The kind of the node.
   */
  kind: Kind,
  /**
   * What happened: `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or `deleted`.
   */
  change: string,
  /**
   * The author, if known.
   */
  actor: string | null,
  /**
   * The label of the author's session.
   */
  label: string | null,
  /**
   * The number of the version, if it changed a content.
   */
  version: number | null,
  /**
   * The path before a rename or move, with the present names of the directories.
   */
  from: string | null,
}

/**
 * A share that one author has in a line.
 */
export type BlameShare = {
  /**
   * The author, if known.
   */
  actor: string | null,
  /**
   * The time when the author wrote it.
   */
  at: UnixMillis | null,
  /**
   * The label of the author's session.
   */
  label: string | null,
  /**
   * The version that contains the change.
   */
  version: number | null,
  /**
   * The number of characters, the end of a line not counted; 0 for an edit that left none.
   */
  chars: number,
}

/**
 * The present position of an anchor.
 */
export type Anchored = {
  /**
   * The path of the file.
   */
  path: string,
  /**
   * The offset in bytes.
   */
  offset: number,
  /**
   * The number of the line, from 1.
   */
  line: number,
  /**
   * Whether the anchored character still exists.
   */
  exact: boolean,
}

/**
 * What a redaction erases, or erased.
 */
export type Redacted = {
  /**
   * The pieces of text, each as it was typed.
   */
  pieces: Array<string>,
  /**
   * The number of characters of the pieces, in UTF-16 code units as Yjs counts.
   */
  chars: number,
  /**
   * The hashes of the blobs that are erased.
   */
  blobs: Array<string>,
  /**
   * The hashes of the blobs that stay because another file or version needs them.
   */
  kept: Array<string>,
  /**
   * The versions that stay readable and contain some of the text, which therefore stays.
   */
  heldBy: Array<number>,
}

/**
 * A record of a redaction.
 */
export type Redaction = {
  /**
   * The author of the redaction.
   */
  actor: string,
  /**
   * The time of the redaction.
   */
  at: UnixMillis,
  /**
   * The reason that the author gave.
   */
  reason: string | null,
  /**
   * The number of erased characters, in UTF-16 code units.
   */
  chars: number,
  /**
   * The number of erased blobs.
   */
  blobs: number,
}

/**
 * A node in the trash.
 */
export type Trashed = {
  /**
   * The id, by which it can be restored.
   */
  id: string,
  /**
   * The name.
   */
  name: string,
  /**
   * The kind.
   */
  kind: Kind,
  /**
   * The path where it was.
   */
  original: string,
  /**
   * The time when it was moved to the trash.
   */
  trashedAt: UnixMillis,
  /**
   * The actor who moved it there, if that is recorded.
   */
  trashedBy: string | null,
  /**
   * The number of nodes that were below it.
   */
  hidden: number,
  /**
   * The paths of nodes below it that other writers changed or added since.
   */
  stranded: Array<string>,
  /**
   * Whether it is marked for deletion.
   */
  purging: boolean,
}

/**
 * The result of deleting what was marked.
 */
export type Expired = {
  /**
   * The number of deleted rows of the files table.
   */
  rows: number,
  /**
   * The number of deleted documents.
   */
  documents: number,
  /**
   * The bytes that the documents and blobs had.
   */
  bytes: number,
}

/**
 * A path that an import or export skipped.
 */
export type Skipped = {
  /**
   * The path.
   */
  path: string,
  /**
   * The reason.
   */
  why: string,
}

/**
 * The report of an import of a directory or file.
 */
export type ImportReport = {
  /**
   * The number of created files.
   */
  created: number,
  /**
   * The number of files whose content changed.
   */
  updated: number,
  /**
   * The number of files that were equal.
   */
  unchanged: number,
  /**
   * The number of created directories.
   */
  directories: number,
  /**
   * The number of created or changed symbolic links.
   */
  links: number,
  /**
   * The bytes of file contents that were read.
   */
  bytes: number,
  /**
   * The paths that were skipped.
   */
  skipped: Array<Skipped>,
}

/**
 * The report of an export.
 */
export type ExportReport = {
  /**
   * The number of written files.
   */
  written: number,
  /**
   * The number of files that were equal.
   */
  unchanged: number,
  /**
   * The number of created directories.
   */
  directories: number,
  /**
   * The bytes of file contents that were written.
   */
  bytes: number,
  /**
   * The paths that were skipped.
   */
  skipped: Array<Skipped>,
}

/**
 * A conflict that a person should decide.
 */
export type Conflict = {
  /**
   * The kind of conflict, such as `name`, `late` or `unsettled`.
   */
  kind: string,
  /**
   * The id of the node.
   */
  id: string,
  /**
   * The path of the node.
   */
  path: string,
  /**
   * The explanation.
   */
  detail: string,
}

/**
 * What an editor needs to open a file.
 */
export type DocumentInfo = {
  /**
   * The guid of the file's Yjs document, which is the file's id.
   */
  guid: string,
  /**
   * The category that the file's name gives it.
   */
  category: 'text' | 'rich-text',
  /**
   * The schema of rich text; null for other content.
   */
  profile: 'gfm' | 'commonmark' | null,
  /**
   * The root that an editor binds to; null if the document does not contain the content.
   */
  root: 'text' | 'richtext' | null,
}

/**
 * The report of a conversion to another schema.
 */
export type ProfileReport = {
  /**
   * The number of files with rich text.
   */
  files: number,
  /**
   * The number of files that were converted.
   */
  converted: number,
}

/**
 * The size of a workspace.
 */
export type WorkspaceStats = {
  /**
   * The id of the workspace, which is the guid of its main document.
   */
  id: string,
  /**
   * The number of files.
   */
  files: number,
  /**
   * The number of directories.
   */
  directories: number,
  /**
   * The number of nodes in the trash.
   */
  trashed: number,
  /**
   * The number of updates that wait for others.
   */
  parked: number,
  /**
   * The number of documents in memory.
   */
  openDocuments: number,
}

/**
 * An update that the workspace rejected; equal ones are listed once.
 */
export type Quarantined = {
  /**
   * The number by which it is shown and dropped.
   */
  number: number,
  /**
   * The guid of the document that the update is for.
   */
  doc: string,
  /**
   * The path of the document's file, where it was asked for and is known.
   */
  path: string | null,
  /**
   * The time when it was first rejected.
   */
  firstAt: UnixMillis,
  /**
   * The time when it was last rejected.
   */
  lastAt: UnixMillis,
  /**
   * The number of times that it was rejected.
   */
  times: number,
  /**
   * Its length in bytes.
   */
  bytes: number,
  /**
   * Whether the bytes were kept.
   */
  kept: boolean,
  /**
   * The reason.
   */
  reason: string,
}

/**
 * How a workspace is opened.
 */
export type OpenOptions = {
  /**
   * The author of changes: `human:ada`, `agent:reviewer`.
   */
  actor?: string,
  /**
   * Whether to create the workspace if there is no file; true by default.
   */
  create?: boolean,
  /**
   * The schema of rich text of a new workspace.
   */
  profile?: 'gfm' | 'commonmark',
  /**
   * Whether changes are rejected.
   */
  readOnly?: boolean,
  /**
   * The bytes of unused documents that stay in memory.
   */
  docBudget?: number,
  /**
   * The bytes of plain text that are cached for reading and searching.
   */
  textBudget?: number,
  /**
   * The passphrase of an encrypted workspace. A workspace that is created with one is encrypted.
   */
  passphrase?: string,
  /**
   * The path of the key file of an encrypted workspace, with 32 random bytes or more. A
   * workspace that is created with one is encrypted.
   */
  keyFile?: string,
}

/**
 * Which paths to find.
 */
export type GlobQuery = {
  /**
   * The directory to search; by default the root.
   */
  root?: string,
  /**
   * Whether names that begin with a dot are found.
   */
  hidden?: boolean,
  /**
   * Whether upper and lower case are equal.
   */
  ignoreCase?: boolean,
  /**
   * Whether directories are found.
   */
  directories?: boolean,
  /**
   * The greatest number of paths.
   */
  limit?: number,
}

/**
 * Which lines to find.
 */
export type GrepQuery = {
  /**
   * The directory or file to search; by default the root.
   */
  root?: string,
  /**
   * Whether the pattern is plain text.
   */
  literal?: boolean,
  /**
   * Whether upper and lower case are equal.
   */
  ignoreCase?: boolean,
  /**
   * Whether only whole words match.
   */
  wholeWord?: boolean,
  /**
   * Whether files are searched whose names begin with a dot.
   */
  hidden?: boolean,
  /**
   * Globs of the paths to search.
   */
  include?: Array<string>,
  /**
   * Globs of the paths to skip.
   */
  exclude?: Array<string>,
  /**
   * The number of lines of context before a match.
   */
  before?: number,
  /**
   * The number of lines of context after a match.
   */
  after?: number,
  /**
   * The greatest number of lines per file.
   */
  maxPerFile?: number,
  /**
   * The greatest number of lines.
   */
  maxTotal?: number,
  /**
   * The greatest number of bytes of a line that are returned.
   */
  maxLineLength?: number,
  /**
   * Whether an index may choose the files to read; true by default. The lines are the same.
   */
  useIndex?: boolean,
  /**
   * The time after which the search ends, in milliseconds.
   */
  timeoutMs?: number,
}

/**
 * How a directory is imported.
 */
export type ImportOptions = {
  /**
   * Whether files are skipped that `.gitignore` names; true by default.
   */
  gitignore?: boolean,
  /**
   * Whether names that begin with a dot are imported; true by default.
   */
  hidden?: boolean,
  /**
   * The size in bytes from which files are skipped.
   */
  maxFileSize?: number,
}
