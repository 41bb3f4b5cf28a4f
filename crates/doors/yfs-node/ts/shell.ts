// A workspace as the filesystem of a just-bash shell: the `IFileSystem` of just-bash 3.4, whole.
//
// Three rules stand between a shell and the CRDT. System directories are not in the workspace, but
// beside it (`side.ts`). The empty write that a shell makes before every redirection is held back
// and merged with the next one, so that a redirection is one least edit (`shell/writes.ts`). A
// write is based on the content that the shell had read, so that concurrent typing is not lost.

import { decode, encode, encodingOf, type EncodingOption } from './encoding.js'
import type { Files } from './files.js'
import { wrongType } from './invalid.js'
import { isWithin, join, normalize, parentOf, resolve } from './paths.js'
import { PendingWork } from './shell/pending_work.js'
import { bytesOf, Contents, type Text } from './shell/contents.js'
import { codeOf, fail, missing, noFile, plain, translated } from './shell/errors.js'
import type { ByteString, Meta, ShellEntry, ShellOptions, ShellStat } from './shell/types.js'
import { Writes } from './shell/writes.js'
import { once, SideMap, systemOf, type Provider, type SideEntry } from './side.js'
import type { Stats } from './types.js'

export type { ShellEntry, ShellOptions, ShellStat } from './shell/types.js'

const FILE_MODE = 0o644

/** Counts the shells; each has its own identities for the files beside the workspace. */
let nShells = 0

/** A workspace as the filesystem of a shell. */
export class ShellFs {
  #files: Files
  readonly #workspaceId: string
  readonly #cwd: string
  readonly #isPosix: boolean
  readonly #side = new SideMap()
  readonly #number = ++nShells
  /** Whether there may be a lazy file that is the workspace's. */
  #hasLazy = false
  /** What was set of the root, which is no row: it goes with the shell. */
  readonly #root: Meta = {}
  readonly #contents = new Contents()
  readonly #pending = new PendingWork()
  readonly #writes: Writes

  /** @internal */
  constructor(files: Files, workspaceId: string, options: ShellOptions) {
    this.#files = files
    this.#workspaceId = workspaceId
    this.#cwd = normalize(options.cwd ?? '/')
    this.#isPosix = options.policy !== 'collab'
    this.#writes = new Writes(files, this.#isPosix, (work) => this.#pending.begin(work))
  }

  /** Does what was held back. Call it before looking at the workspace in other ways. */
  async flush(): Promise<void> {
    await this.#pending.settled()
    await this.#writes.flush()
  }

  /** Labels the next changes of the shell, for example with the turn of an agent or one `exec`. */
  async relabel(label: string): Promise<void> {
    await this.flush()
    this.#files = this.#files.labelled(label)
    this.#writes.files = this.#files
  }

  async readFile(path: string, options?: EncodingOption): Promise<string> {
    const encoding = encodingOf(options)
    const text = this.#text(path)
    if (text && isUtf8(encoding))
      return text.text.charCodeAt(0) === 0xfeff ? text.text.slice(1) : text.text
    return decode(text ? bytesOf(text) : await this.readFileBuffer(path), encoding)
  }

  async readFileBytes(path: string): Promise<ByteString> {
    const text = this.#text(path)
    if (!text) return decode(await this.readFileBuffer(path), 'binary')
    const bytes = bytesOf(text)
    // Of plain ASCII, the text and its bytes as characters are the same.
    return bytes.length === text.text.length ? text.text : decode(bytes, 'binary')
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    const text = this.#text(path)
    // A copy, because the caller may change the bytes.
    if (text) return new Uint8Array(bytesOf(text))
    await this.#pending.settled()
    return this.#read(this.#check(path, 'open'), path)
  }

  async writeFile(
    path: string,
    content: string | Uint8Array,
    options?: EncodingOption,
  ): Promise<void> {
    const bytes = encode(content, encodingOf(options))
    await this.#pending.settled()
    const at = this.#check(path, 'write')
    if (this.#isBeside(at)) {
      const there = this.#side.get(at)
      if (there?.content === null) throw noFile('open', path)
      this.#side.write(at, bytes.slice())
      return
    }
    this.#side.remove(at)
    const found = this.#lstat(at)
    if (found?.kind === 'directory') throw noFile('open', path)
    await this.#done('open', path, () => this.#writes.write(at, bytes, found))
  }

  async appendFile(
    path: string,
    content: string | Uint8Array,
    options?: EncodingOption,
  ): Promise<void> {
    const bytes = encode(content, encodingOf(options))
    await this.#pending.settled()
    const at = this.#check(path, 'append')
    const side = await this.#sideOf(at, false)
    if (side?.content === null) throw noFile('write', path)
    if (side || this.#isBeside(at)) {
      const before = side ? await this.#side.read(side) : new Uint8Array()
      this.#side.write(
        at,
        new Uint8Array(Buffer.concat([before, bytes])),
        side ? { mode: side.mode } : {},
      )
      return
    }
    const found = this.#stat(at)
    if (found?.kind === 'directory') throw noFile('write', path)
    // A shell begins with an empty append, which changes nothing where a file is.
    if (found && bytes.length === 0) return
    const held = found && this.#writes.held(found.id)
    if (held) return this.#done('append', path, () => this.#writes.write(held.path, bytes, found))
    await this.#done('append', path, () => this.#files.appendFile(at, bytes))
  }

  async exists(path: string): Promise<boolean> {
    if (path.includes('\0')) return false
    if (this.#pending.isBusy) await this.#pending.settled()
    const at = resolve(this.#cwd, path)
    if (this.#side.has(at)) return true
    await this.#bringIn()
    if (this.#files.existsSync(at)) return true
    return (await this.#throughLinks(at, undefined)) !== undefined
  }

  async stat(path: string): Promise<ShellStat> {
    if (this.#pending.isBusy) await this.#pending.settled()
    const at = this.#check(path, 'stat')
    const side = this.#isPlain(at) ? undefined : await this.#sideOf(at, true)
    if (side) return this.#sideStat(side)
    try {
      const shown = this.#shown(this.#files.statSync(at))
      return at === '/' ? { ...shown, ...this.#root } : shown
    } catch (error) {
      const reached = await this.#throughLinks(at, error)
      const beside = reached && (await this.#sideOf(reached, true))
      if (beside) return this.#sideStat(beside)
      if (reached) return this.#shown(this.#files.statSync(reached))
      throw this.#translated(error, 'stat', path)
    }
  }

  async lstat(path: string): Promise<ShellStat> {
    if (this.#pending.isBusy) await this.#pending.settled()
    const at = this.#check(path, 'lstat')
    const side = this.#isPlain(at) ? undefined : await this.#sideOf(at, true)
    if (side) return this.#sideStat(side)
    try {
      const shown = this.#shown(this.#files.lstatSync(at))
      return at === '/' ? { ...shown, ...this.#root } : shown
    } catch (error) {
      throw this.#translated(error, 'lstat', path)
    }
  }

  async mkdir(path: string, options?: { recursive?: boolean }): Promise<void> {
    await this.#pending.settled()
    await this.#bringIn()
    await this.#mkdir(path, options?.recursive ?? false)
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map((entry) => entry.name)
  }

  async readdirWithFileTypes(path: string): Promise<ShellEntry[]> {
    if (this.#pending.isBusy) await this.#pending.settled()
    if (this.#hasLazy) await this.#bringIn()
    return this.#list(this.#check(path, 'scandir'), path)
  }

  async rm(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void> {
    await this.#pending.settled()
    const at = this.#check(path, 'rm')
    const side = this.#side.get(at)
    const found = this.#lstat(at)
    if (!side && !found) {
      if (options?.force) return
      throw missing('rm', path)
    }
    if (!options?.recursive && (this.#side.children(at).length > 0 || this.#isFull(at))) {
      throw fail('ENOTEMPTY', 'directory not empty', 'rm', path)
    }
    this.#side.remove(at)
    if (!found) return
    this.#writes.drop(found.id)
    const recursive = options?.recursive ?? false
    await this.#done('rm', path, () => this.#files.rm(at, { recursive, force: true }))
  }

  async cp(from: string, to: string, options?: { recursive?: boolean }): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(from, 'cp'), this.#check(to, 'cp')]
    if (source !== target && this.#copyLazy(source, target)) return
    await this.#bringIn()
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw missing('cp', from)
    const isDirectory = side ? side.content === null : found?.kind === 'directory'
    if (isDirectory && !options?.recursive) throw fail('EISDIR', 'is a directory', 'cp', from)
    if (isDirectory && isWithin(target, source)) {
      throw plain('EINVAL', `EINVAL: cannot copy '${from}' into itself, '${to}'`)
    }
    if (source === target) return
    if (side || this.#isBeside(target)) return this.#copyAcross(source, target)
    this.#refuseDirectoryOverFile(isDirectory ?? false, target)
    await this.#done('cp', from, () =>
      this.#files.cp(source, target, { recursive: isDirectory ?? false }),
    )
  }

  async mv(from: string, to: string): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(from, 'mv'), this.#check(to, 'mv')]
    await this.#bringIn()
    if (source === target) return
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw missing('mv', from)
    const isDirectory = side ? side.content === null : found?.kind === 'directory'
    if (isDirectory && isWithin(target, source)) {
      throw plain('EINVAL', `EINVAL: cannot move '${from}' into itself, '${to}'`)
    }
    if (side || this.#isBeside(target)) {
      await this.#copyAcross(source, target)
      return this.rm(source, { recursive: true, force: true })
    }
    this.#refuseMerge(source, target, isDirectory ?? false)
    await this.#done('mv', from, () => this.#move(source, target, isDirectory ?? false))
  }

  resolvePath(base: string, path: string): string {
    return resolve(base, path)
  }

  getAllPaths(): string[] {
    const paths = new Set(['/', ...this.#side.paths()])
    for (const { name } of this.#files.allPathsSync()) paths.add(name)
    for (const path of this.#pending.paths()) paths.add(path)
    return [...paths]
  }

  async chmod(path: string, mode: number): Promise<void> {
    await this.flush()
    const at = this.#check(path, 'chmod')
    await this.#bringIn()
    const side = await this.#sideOf(at, false)
    if (side) {
      side.mode = mode
      return
    }
    if (!this.#lstat(at)) throw missing('chmod', path)
    if (this.#isPosix && at === '/') this.#root.mode = mode
    else if (this.#isPosix)
      await this.#done('chmod', path, () => this.#files.chmod(at, mode & 0o7777))
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.#pending.settled()
    const at = this.#check(path, 'symlink')
    await this.#bringIn()
    if (this.#side.has(at) || this.#lstat(at))
      throw fail('EEXIST', 'file already exists', 'symlink', path)
    if (!this.#isPosix || this.#isBeside(at))
      throw fail('ENOSYS', 'function not implemented', 'symlink', path)
    await this.#done('symlink', path, () => this.#files.symlink(target, at))
  }

  async link(existing: string, path: string): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(existing, 'link'), this.#check(path, 'link')]
    await this.#bringIn()
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw missing('link', existing)
    const isFile = side ? side.content !== null : found?.kind === 'file'
    if (!isFile) throw fail('EPERM', 'operation not permitted', 'link', existing)
    if (this.#side.has(target) || this.#lstat(target))
      throw fail('EEXIST', 'file already exists', 'link', path)
    if (!this.#isPosix) throw fail('ENOSYS', 'function not implemented', 'link', path)
    await this.cp(source, target)
  }

  async readlink(path: string): Promise<string> {
    await this.#pending.settled()
    const at = this.#check(path, 'readlink')
    await this.#bringIn()
    if (this.#side.has(at)) throw fail('EINVAL', 'invalid argument', 'readlink', path)
    try {
      return this.#files.readlinkSync(at)
    } catch (error) {
      throw this.#translated(error, 'readlink', path)
    }
  }

  async realpath(path: string): Promise<string> {
    await this.#pending.settled()
    const at = this.#check(path, 'realpath')
    await this.#bringIn()
    if (this.#side.has(at)) return at
    try {
      return this.#files.realpathSync(at)
    } catch (error) {
      const reached = await this.#throughLinks(at, error)
      if (reached) return reached
      throw this.#translated(error, 'realpath', path)
    }
  }

  async utimes(path: string, _atime: Date | number, mtime: Date | number): Promise<void> {
    await this.#pending.settled()
    const at = this.#check(path, 'utimes')
    await this.#bringIn()
    const side = await this.#sideOf(at, true)
    if (side) {
      side.mtime = new Date(mtime)
      return
    }
    await this.flush()
    if (at === '/') this.#root.mtime = new Date(mtime)
    else await this.#done('utimes', path, () => this.#files.utimes(at, mtime))
  }

  /**
   * Creates a directory. One that is not the system's is created in the workspace, before the next
   * call of another kind.
   */
  mkdirSync(path: string, options?: { recursive?: boolean }): void {
    const at = this.#check(path, 'mkdir')
    const recursive = options?.recursive ?? false
    if (this.#hasDirectory(at, path, recursive)) return
    if (this.#isBeside(at)) return this.#side.mkdir(at)
    this.#promise(at, 'directory')
    this.#pending.begin(() =>
      this.#done('mkdir', path, () => this.#files.mkdir(at, { recursive: true })),
    )
  }

  /**
   * Writes a file. One that is not the system's is written to the workspace, before the next call
   * of another kind.
   */
  writeFileSync(
    path: string,
    content: string | Uint8Array,
    options?: EncodingOption,
    meta: Meta = {},
  ): void {
    const at = this.#check(path, 'write')
    const bytes = encode(content, encodingOf(options)).slice()
    if (systemOf(at)) return this.#side.write(at, bytes, meta)
    const there = this.#lstat(at)?.kind ?? this.#pending.promised(at)
    if (there === 'directory') throw noFile('open', path)
    this.#side.remove(at)
    this.#promise(at, 'file')
    this.#pending.begin(() =>
      this.#writes.writeWith(at, bytes, { mode: FILE_MODE, mtime: new Date(), ...meta }),
    )
  }

  /**
   * Creates a file whose content is loaded, and written to the workspace, when it is first needed.
   */
  writeFileLazy(path: string, provider: Provider, meta: Meta = {}): void {
    if (typeof provider !== 'function') throw wrongType('provider', 'of type function', provider)
    const at = this.#check(path, 'write')
    this.#hasLazy ||= !systemOf(at)
    this.#side.write(at, once(provider), meta)
  }

  #check(path: string, op: string): string {
    this.#writes.noteCall()
    if (path.includes('\0'))
      throw plain('ENOENT', `ENOENT: path contains null byte, ${op} '${path}'`)
    return resolve(this.#cwd, path)
  }

  /** Tells whether what is made at a path is not the workspace's. */
  #isBeside(at: string): boolean {
    const top = systemOf(at)
    return top !== undefined && !this.#files.existsSync(top)
  }

  /** Tells whether nothing beside the workspace can be at a path, whatever leads there. */
  #isPlain(at: string): boolean {
    return !this.#hasLazy && !this.#side.has(at)
  }

  /**
   * Returns the entry beside the workspace at a path. A lazy file that belongs into the workspace
   * is moved there first.
   */
  async #sideOf(at: string, isRead: boolean): Promise<SideEntry | undefined> {
    const entry = this.#side.get(at)
    if (!entry) {
      // A link may lead to a lazy file.
      await this.#bringIn()
      return undefined
    }
    if (systemOf(at)) {
      if (this.#lstat(at)) return undefined
      if (isRead && typeof entry.content === 'function') await this.#side.read(entry)
      return entry
    }
    if (entry.content === null) return this.#lstat(at) ? undefined : entry
    const content = await this.#side.read(entry)
    await this.#writes.writeWith(at, content, { mode: entry.mode, mtime: entry.mtime })
    this.#side.remove(at)
    this.#side.prune(parentOf(at))
    return undefined
  }

  /** Moves all lazy files that are not the system's into the workspace. */
  async #bringIn(): Promise<void> {
    if (!this.#hasLazy) return
    this.#hasLazy = false
    try {
      for (const at of this.#side.paths())
        if (this.#side.lazy(at) && !systemOf(at)) await this.#sideOf(at, false)
    } catch (error) {
      this.#hasLazy = true
      throw error
    }
  }

  /** Copies a lazy file as one, so that its content is asked for when it is needed. */
  #copyLazy(source: string, target: string): boolean {
    const content = this.#side.lazy(source)
    if (!content || systemOf(source) || this.#kindOf(target) !== undefined) return false
    const { mode, mtime } = this.#side.get(source)!
    this.#side.write(target, content, { mode, mtime })
    return true
  }

  #stat(at: string): Stats | undefined {
    return this.#find(at, true)
  }

  #lstat(at: string): Stats | undefined {
    return this.#find(at, false)
  }

  #find(at: string, follow: boolean): Stats | undefined {
    try {
      return this.#files.findSync(at, follow)
    } catch {
      return undefined
    }
  }

  /** Returns what a file of the workspace says, where that needs no waiting. */
  #text(path: string): Text | undefined {
    if (this.#pending.isBusy || path.includes('\0')) return undefined
    const at = resolve(this.#cwd, path)
    if (!this.#isPlain(at)) return undefined
    let text
    try {
      text = this.#contents.get(this.#files, at)
    } catch {
      return undefined
    }
    if (!text || this.#writes.held(text.id)) return undefined
    this.#writes.noteCall()
    return text
  }

  #shown(stats: Stats): ShellStat {
    const held = this.#writes.held(stats.id)
    const { kind } = stats
    const mode = held?.mode ?? stats.mode
    const shown: ShellStat = {
      isFile: kind === 'file',
      isDirectory: kind === 'directory',
      isSymbolicLink: kind === 'symlink',
      mode: this.#isPosix ? mode : kind === 'directory' ? 0o755 : FILE_MODE,
      size: held ? 0 : stats.size,
      mtime: held?.since ?? stats.mtime,
    }
    if (kind !== 'symlink') shown.identity = `yfs:${this.#workspaceId}:${stats.id}`
    return shown
  }

  #sideStat(entry: SideEntry): ShellStat {
    const isDirectory = entry.content === null
    const size = entry.content instanceof Uint8Array ? entry.content.length : 0
    const identity = `yfs:${this.#workspaceId}:side:${this.#number}:${entry.id}`
    const { mode, mtime } = entry
    return { isFile: !isDirectory, isDirectory, isSymbolicLink: false, mode, size, mtime, identity }
  }

  async #read(at: string, path: string): Promise<Uint8Array> {
    const side = await this.#sideOf(at, true)
    if (side) {
      if (side.content === null) throw noFile('read', path)
      return (await this.#side.read(side)).slice()
    }
    try {
      const found = this.#files.statSync(at)
      if (this.#writes.held(found.id)) return new Uint8Array()
      return await this.#files.readFile(at)
    } catch (error) {
      const reached = await this.#throughLinks(at, error)
      if (reached) return this.#read(reached, path)
      if (codeOf(error) === 'EISDIR') throw noFile('read', path)
      throw this.#translated(error, 'open', path)
    }
  }

  async #list(at: string, path: string): Promise<ShellEntry[]> {
    const side = this.#side.get(at)
    try {
      const listed = this.#files.readdirSync(at).map(({ name, kind }) => entryOf(name, kind))
      return this.#merged(at, listed)
    } catch (error) {
      if (side?.content === null) return this.#merged(at, [])
      const reached = side ? undefined : await this.#throughLinks(at, error)
      if (reached) return this.#list(reached, path)
      if (side) throw fail('ENOTDIR', 'not a directory', 'scandir', path)
      throw this.#translated(error, 'scandir', path)
    }
  }

  async #mkdir(path: string, recursive: boolean): Promise<void> {
    const at = this.#check(path, 'mkdir')
    if (this.#hasDirectory(at, path, recursive)) return
    if (this.#isBeside(at)) this.#side.mkdir(at)
    else await this.#done('mkdir', path, () => this.#files.mkdir(at, { recursive: true }))
  }

  /**
   * Reports whether the directory exists already. Throws if the path or a parent has an entry of
   * another kind, or if the parent is missing.
   */
  #hasDirectory(at: string, path: string, recursive: boolean): boolean {
    const kind = this.#kindOf(at)
    if (kind !== undefined) {
      if (kind === 'file') throw fail('EEXIST', 'file already exists', 'mkdir', path)
      if (!recursive) throw fail('EEXIST', 'directory already exists', 'mkdir', path)
      return true
    }
    const above = parentOf(at)
    if (!recursive && above !== '/' && this.#kindOf(above) === undefined && !this.#stat(above))
      throw missing('mkdir', path)
    return false
  }

  /** Returns what is at a path, or will be when the pending work is done. */
  #kindOf(at: string): string | undefined {
    if (this.#side.lazy(at)) return 'file'
    const side = this.#side.get(at)
    const beside = side && (side.content === null ? 'directory' : 'file')
    return this.#lstat(at)?.kind ?? beside ?? this.#pending.promised(at)
  }

  /** Says what will be at a path, and that it will be in directories. */
  #promise(at: string, kind: 'file' | 'directory'): void {
    for (let above = parentOf(at); above !== '/'; above = parentOf(above))
      this.#pending.promise(above, 'directory')
    this.#pending.promise(at, kind)
  }

  /** Puts what lies beside the workspace into a listing of it, in the order of just-bash. */
  #merged(at: string, listed: ShellEntry[]): ShellEntry[] {
    const beside = this.#side.children(at)
    if (beside.length > 0) {
      const names = new Map(
        beside.map((it) => [it.name, entryOf(it.name, it.isDirectory ? 'directory' : 'file')]),
      )
      for (const { name } of listed) names.delete(name)
      listed.push(...names.values())
    }
    return isSorted(listed) ? listed : listed.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #refuseDirectoryOverFile(isDirectory: boolean, target: string): void {
    const there = isDirectory ? this.#lstat(target) : undefined
    if (there && there.kind !== 'directory')
      throw fail('EEXIST', 'file already exists', 'mkdir', target)
  }

  /** Refuses to move what cannot be put into what is there, before anything has moved. */
  #refuseMerge(source: string, target: string, isDirectory: boolean): void {
    this.#refuseDirectoryOverFile(isDirectory, target)
    if (!isDirectory && this.#lstat(target)?.kind === 'directory')
      throw fail('EISDIR', 'is a directory', 'mv', source)
    if (!isDirectory || !this.#isFull(target)) return
    for (const { name, kind } of this.#files.readdirSync(source)) {
      this.#refuseMerge(join(source, name), join(target, name), kind === 'directory')
    }
  }

  /** Reports whether a path is a directory with entries. */
  #isFull(at: string): boolean {
    return this.#lstat(at)?.kind === 'directory' && this.#files.readdirSync(at).length > 0
  }

  /** Moves, and puts what is in a directory into one that is there. */
  async #move(source: string, target: string, isDirectory: boolean): Promise<void> {
    if (!isDirectory || !this.#isFull(target)) return this.#files.mv(source, target)
    for (const { name, kind } of this.#files.readdirSync(source)) {
      await this.#move(join(source, name), join(target, name), kind === 'directory')
    }
    await this.#files.rm(source)
  }

  /** Copies where one end is not the workspace's. */
  async #copyAcross(source: string, target: string): Promise<void> {
    const stat = await this.lstat(source)
    if (stat.isDirectory) {
      await this.#mkdir(target, true)
      for (const name of await this.readdir(source))
        await this.#copyAcross(join(source, name), join(target, name))
      return
    }
    const content = await this.readFileBuffer(source)
    await this.writeFile(target, content)
    if (this.#isBeside(target)) this.#side.write(target, content, stat)
    else await this.#writes.writeWith(target, content, stat)
  }

  /**
   * Follows links of the workspace to entries beside it, after the workspace has found no entry.
   */
  async #throughLinks(at: string, error: unknown): Promise<string | undefined> {
    if (error !== undefined && codeOf(error) !== 'ENOENT') return undefined
    let walked = '/'
    const names = at.split('/').filter(Boolean)
    for (let n = 0; n < 40 && names.length > 0;) {
      const next = join(walked, names.shift()!)
      const found = this.#lstat(next)
      if (found?.kind !== 'symlink') {
        walked = next
        continue
      }
      n += 1
      names.unshift(...resolve(walked, this.#files.readlinkSync(next)).split('/').filter(Boolean))
      walked = '/'
    }
    return walked !== at && names.length === 0 && this.#side.has(walked) ? walked : undefined
  }

  /** Runs a change, and says its failure in the words of just-bash. */
  async #done(op: string, path: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      throw this.#translated(error, op, path)
    }
  }

  #translated(error: unknown, op: string, path: string): unknown {
    return translated(
      error,
      op,
      op === 'utimes' && codeOf(error) === 'ELOOP' ? resolve(this.#cwd, path) : path,
    )
  }
}

function entryOf(name: string, kind: string): ShellEntry {
  return {
    name,
    isFile: kind === 'file',
    isDirectory: kind === 'directory',
    isSymbolicLink: kind === 'symlink',
  }
}

/** Reports whether names are in the order of their code units. */
function isSorted(entries: ShellEntry[]): boolean {
  return entries.every(({ name }, index) => index === 0 || entries[index - 1]!.name < name)
}

function isUtf8(encoding: string | undefined): boolean {
  return (
    encoding === undefined || encoding === 'utf8' || encoding === 'utf-8' || encoding === 'ascii'
  )
}
