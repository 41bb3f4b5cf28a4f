// A workspace as the filesystem of a just-bash shell: the `IFileSystem` of just-bash 3.4, whole.
//
// Three things stand between a shell and the CRDT. System directories live beside the workspace (`side.ts`). The
// empty write that a shell makes before every redirection is held back and becomes one with what
// follows, so that a redirection is one least edit. And what is written is based on what the shell had read, so that
// whoever types meanwhile loses nothing.

import { decode, encode, encodingOf, type EncodingOption } from './encoding.js'
import { YfsError } from './errors.js'
import type { Files } from './files.js'
import { isWithin, join, normalize, parentOf, resolve } from './paths.js'
import { SideMap, systemOf, type Provider, type SideEntry } from './side.js'
import type { Stats } from './types.js'

/** How a shell sees a workspace. */
export interface ShellOptions {
  /** Where relative paths count from. */
  cwd?: string
  /** `posix` (default) has links and modes; `collab` has neither. */
  policy?: 'posix' | 'collab'
  /** On whose behalf the shell acts. */
  actor?: string
  /** What for: shown beside its changes in blame and versions. */
  label?: string
}

/** What just-bash wants to know of an object. */
export interface ShellStat {
  isFile: boolean
  isDirectory: boolean
  isSymbolicLink: boolean
  mode: number
  size: number
  mtime: Date
  identity?: string
}

/** A name in a directory. */
export interface ShellEntry {
  name: string
  isFile: boolean
  isDirectory: boolean
  isSymbolicLink: boolean
}

/** A text as bytes: each character is one. */
type ByteString = string & { readonly __byteString?: never }

/** How long an empty write is held back at most while nothing follows, in milliseconds. */
const HOLD_MS = 1_000

/** Of how many files it is remembered what the shell had read. */
const MAX_READ = 256

const FILE_MODE = 0o644

/** Taken now, since a sandbox around a running shell may hide them. */
const { setTimeout: later, clearTimeout: never } = globalThis

/** A truncation that has not happened yet. */
interface Held {
  path: string
  /** What the shell had read, or else what the file held then: the base of what follows. */
  version: string
  /** The mode that the file gets, if it has another. */
  mode: number | undefined
  /** When. */
  since: Date
  timer: ReturnType<typeof setTimeout>
}

/** How many shells have been made; each has identities of its own for what lies beside the workspace. */
let nShells = 0

/** A workspace as the filesystem of a shell. */
export class ShellFs {
  readonly #files: Files
  readonly #workspaceId: string
  readonly #cwd: string
  readonly #isPosix: boolean
  readonly #side = new SideMap()
  readonly #number = ++nShells
  /** Truncations that wait for what follows, by file. */
  readonly #held = new Map<string, Held>()
  /** The versions that were read last, by file: the bases of what the shell writes. */
  readonly #read = new Map<string, string>()
  /** What synchronous calls have begun; nothing if that is done. */
  #begun: Promise<void> | undefined

  /** @internal */
  constructor(files: Files, workspaceId: string, options: ShellOptions) {
    this.#files = files
    this.#workspaceId = workspaceId
    this.#cwd = normalize(options.cwd ?? '/')
    this.#isPosix = options.policy !== 'collab'
  }

  /** Does what was held back. Call it before looking at the workspace in other ways. */
  async flush(): Promise<void> {
    await this.#settled()
    for (const [id, held] of [...this.#held]) await this.#truncate(id, held)
  }

  async readFile(path: string, options?: EncodingOption): Promise<string> {
    const encoding = encodingOf(options)
    const bytes = await this.readFileBuffer(path)
    return decode(bytes, encoding)
  }

  async readFileBytes(path: string): Promise<ByteString> {
    return decode(await this.readFileBuffer(path), 'binary')
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    await this.#settled()
    const at = this.#check(path, 'open')
    const side = await this.#sideOf(at, true)
    if (side) {
      if (side.content === null) throw fail('EISDIR', 'illegal operation on a directory', 'read', path)
      return (await this.#side.read(side)).slice()
    }
    try {
      const id = this.#held.size > 0 ? this.#files.statSync(at).id : undefined
      if (id !== undefined && this.#held.has(id)) return new Uint8Array()
      const content = await this.#files.readVersioned(at)
      this.#noteRead(at, content.version)
      return content.data
    } catch (error) {
      const reached = await this.#throughLinks(at, error)
      if (reached) return this.readFileBuffer(reached)
      if (codeOf(error) === 'EISDIR') throw fail('EISDIR', 'illegal operation on a directory', 'read', path)
      throw this.#translated(error, 'open', path)
    }
  }

  async writeFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    await this.#settled()
    const at = this.#check(path, 'write')
    const bytes = encode(content, encodingOf(options))
    if (this.#isBeside(at)) {
      const there = this.#side.get(at)
      if (there?.content === null) throw fail('EISDIR', 'illegal operation on a directory', 'open', path)
      this.#side.write(at, bytes.slice(), there ? { mode: there.mode } : {})
      return
    }
    this.#side.remove(at)
    const found = this.#lstat(at)
    if (found?.kind === 'directory') throw fail('EISDIR', 'illegal operation on a directory', 'open', path)
    const isEmptying = bytes.length === 0 && found?.kind === 'file' && found.size > 0
    if (isEmptying && !this.#held.has(found.id)) {
      await this.#hold(at, found)
      return
    }
    await this.#write(at, bytes, found, path)
  }

  async appendFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    await this.#settled()
    const at = this.#check(path, 'append')
    const bytes = encode(content, encodingOf(options))
    const side = await this.#sideOf(at, false)
    if (side?.content === null) throw fail('EISDIR', 'illegal operation on a directory', 'write', path)
    if (side || this.#isBeside(at)) {
      const before = side ? await this.#side.read(side) : new Uint8Array()
      this.#side.write(at, Buffer.concat([before, bytes]).subarray().slice(), side ? { mode: side.mode } : {})
      return
    }
    const found = this.#stat(at)
    if (found?.kind === 'directory') throw fail('EISDIR', 'illegal operation on a directory', 'write', path)
    if (found) await this.#release(found.id)
    // A shell begins with an empty append, which changes nothing where a file is.
    if (found && bytes.length === 0) return
    await this.#done('append', path, () => this.#files.appendFile(at, bytes))
  }

  async exists(path: string): Promise<boolean> {
    if (path.includes('\0')) return false
    await this.#settled()
    const at = resolve(this.#cwd, path)
    if (this.#side.has(at) || this.#files.existsSync(at)) return true
    return (await this.#throughLinks(at, undefined)) !== undefined
  }

  async stat(path: string): Promise<ShellStat> {
    await this.#settled()
    const at = this.#check(path, 'stat')
    const side = await this.#sideOf(at, true)
    if (side) return this.#sideStat(side)
    try {
      return this.#shown(this.#files.statSync(at))
    } catch (error) {
      const reached = await this.#throughLinks(at, error)
      if (reached) return this.stat(reached)
      throw this.#translated(error, 'stat', path)
    }
  }

  async lstat(path: string): Promise<ShellStat> {
    await this.#settled()
    const at = this.#check(path, 'lstat')
    const side = await this.#sideOf(at, true)
    if (side) return this.#sideStat(side)
    try {
      return this.#shown(this.#files.lstatSync(at))
    } catch (error) {
      throw this.#translated(error, 'lstat', path)
    }
  }

  async mkdir(path: string, options?: { recursive?: boolean }): Promise<void> {
    await this.#settled()
    await this.#mkdir(path, options?.recursive ?? false)
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map((entry) => entry.name)
  }

  async readdirWithFileTypes(path: string): Promise<ShellEntry[]> {
    await this.#settled()
    const at = this.#check(path, 'scandir')
    const entries = new Map<string, ShellEntry>()
    const side = this.#side.get(at)
    for (const { name, isDirectory } of this.#side.children(at)) {
      entries.set(name, { name, isFile: !isDirectory, isDirectory, isSymbolicLink: false })
    }
    try {
      for (const { name, kind } of this.#files.readdirSync(at)) {
        entries.set(name, {
          name, isFile: kind === 'file', isDirectory: kind === 'directory', isSymbolicLink: kind === 'symlink',
        })
      }
    } catch (error) {
      if (side?.content !== null) {
        const reached = side ? undefined : await this.#throughLinks(at, error)
        if (reached) return this.readdirWithFileTypes(reached)
        if (side) throw fail('ENOTDIR', 'not a directory', 'scandir', path)
        throw this.#translated(error, 'scandir', path)
      }
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  }

  async rm(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void> {
    await this.#settled()
    const at = this.#check(path, 'rm')
    const side = this.#side.get(at)
    const found = this.#lstat(at)
    if (!side && !found) {
      if (options?.force) return
      throw fail('ENOENT', 'no such file or directory', 'rm', path)
    }
    if (!options?.recursive && (await this.#hasChildren(at, side, found))) {
      throw fail('ENOTEMPTY', 'directory not empty', 'rm', path)
    }
    this.#side.remove(at)
    if (!found) return
    this.#forget(found.id)
    const recursive = options?.recursive ?? false
    await this.#done('rm', path, () => this.#files.rm(at, { recursive, force: true }))
  }

  async cp(from: string, to: string, options?: { recursive?: boolean }): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(from, 'cp'), this.#check(to, 'cp')]
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw fail('ENOENT', 'no such file or directory', 'cp', from)
    const isDirectory = side ? side.content === null : found?.kind === 'directory'
    if (isDirectory && !options?.recursive) throw fail('EISDIR', 'is a directory', 'cp', from)
    if (isDirectory && isWithin(target, source)) {
      throw plain('EINVAL', `EINVAL: cannot copy '${from}' into itself, '${to}'`)
    }
    if (source === target) return
    if (side || this.#isBeside(target)) return this.#copyAcross(source, target)
    this.#refuseDirectoryOverFile(isDirectory ?? false, target)
    await this.#done('cp', from, () => this.#files.cp(source, target, { recursive: isDirectory ?? false }))
  }

  async mv(from: string, to: string): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(from, 'mv'), this.#check(to, 'mv')]
    if (source === target) return
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw fail('ENOENT', 'no such file or directory', 'mv', from)
    const isDirectory = side ? side.content === null : found?.kind === 'directory'
    if (isDirectory && isWithin(target, source)) {
      throw plain('EINVAL', `EINVAL: cannot move '${from}' into itself, '${to}'`)
    }
    if (side || this.#isBeside(target)) {
      await this.#copyAcross(source, target)
      return this.rm(source, { recursive: true, force: true })
    }
    this.#refuseDirectoryOverFile(isDirectory ?? false, target)
    await this.#done('mv', from, () => this.#move(source, target, isDirectory ?? false))
  }

  resolvePath(base: string, path: string): string {
    return resolve(base, path)
  }

  getAllPaths(): string[] {
    const paths = new Set(['/', ...this.#side.paths()])
    for (const { name } of this.#files.allPathsSync()) paths.add(name)
    return [...paths]
  }

  async chmod(path: string, mode: number): Promise<void> {
    await this.flush()
    const at = this.#check(path, 'chmod')
    const side = await this.#sideOf(at, false)
    if (side) {
      side.mode = mode
      return
    }
    if (!this.#lstat(at)) throw fail('ENOENT', 'no such file or directory', 'chmod', path)
    if (this.#isPosix) await this.#done('chmod', path, () => this.#files.chmod(at, mode & 0o7777))
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.#settled()
    const at = this.#check(path, 'symlink')
    if (this.#side.has(at) || this.#lstat(at)) throw fail('EEXIST', 'file already exists', 'symlink', path)
    if (!this.#isPosix || this.#isBeside(at)) throw fail('ENOSYS', 'function not implemented', 'symlink', path)
    await this.#done('symlink', path, () => this.#files.symlink(target, at))
  }

  async link(existing: string, path: string): Promise<void> {
    await this.flush()
    const [source, target] = [this.#check(existing, 'link'), this.#check(path, 'link')]
    const side = await this.#sideOf(source, false)
    const found = side ? undefined : this.#lstat(source)
    if (!side && !found) throw fail('ENOENT', 'no such file or directory', 'link', existing)
    const isFile = side ? side.content !== null : found?.kind === 'file'
    if (!isFile) throw fail('EPERM', 'operation not permitted', 'link', existing)
    if (this.#side.has(target) || this.#lstat(target)) throw fail('EEXIST', 'file already exists', 'link', path)
    if (!this.#isPosix) throw fail('ENOSYS', 'function not implemented', 'link', path)
    await this.cp(source, target)
  }

  async readlink(path: string): Promise<string> {
    await this.#settled()
    const at = this.#check(path, 'readlink')
    if (this.#side.has(at)) throw fail('EINVAL', 'invalid argument', 'readlink', path)
    try {
      return this.#files.readlinkSync(at)
    } catch (error) {
      throw this.#translated(error, 'readlink', path)
    }
  }

  async realpath(path: string): Promise<string> {
    await this.#settled()
    const at = this.#check(path, 'realpath')
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
    await this.#settled()
    const at = this.#check(path, 'utimes')
    const side = await this.#sideOf(at, true)
    if (side) {
      side.mtime = new Date(mtime)
      return
    }
    await this.flush()
    await this.#done('utimes', path, () => this.#files.utimes(at, mtime))
  }

  /** Makes a directory. What is not the system's is made in the workspace, before the next call of another kind. */
  mkdirSync(path: string, options?: { recursive?: boolean }): void {
    const at = this.#check(path, 'mkdir')
    if (this.#isBeside(at)) this.#side.mkdir(at)
    else this.#begin(() => this.#mkdir(path, options?.recursive ?? false))
  }

  /** Writes a file. What is not the system's is written to the workspace, before the next call of another kind. */
  writeFileSync(
    path: string,
    content: string | Uint8Array,
    options?: EncodingOption,
    meta: { mode?: number; mtime?: Date } = {},
  ): void {
    const at = this.#check(path, 'write')
    const bytes = encode(content, encodingOf(options)).slice()
    if (systemOf(at)) this.#side.write(at, bytes, meta)
    else this.#begin(() => this.#writeWith(at, bytes, meta))
  }

  /** Makes a file whose content is asked for when it is first needed; only then it is in the workspace. */
  writeFileLazy(path: string, provider: Provider, meta: { mode?: number; mtime?: Date } = {}): void {
    this.#side.write(this.#check(path, 'write'), provider, meta)
  }

  #check(path: string, op: string): string {
    if (path.includes('\0')) throw plain('ENOENT', `ENOENT: path contains null byte, ${op} '${path}'`)
    return resolve(this.#cwd, path)
  }

  /** Tells whether what is made at a path is not the workspace's. */
  #isBeside(at: string): boolean {
    const top = systemOf(at)
    return top !== undefined && !this.#files.existsSync(top)
  }

  /** Returns what is beside the workspace at a path; a lazy file of the workspace's moves into it first. */
  async #sideOf(at: string, isRead: boolean): Promise<SideEntry | undefined> {
    const entry = this.#side.get(at)
    if (!entry) return undefined
    if (systemOf(at)) {
      if (this.#lstat(at)) return undefined
      if (isRead && typeof entry.content === 'function') await this.#side.read(entry)
      return entry
    }
    if (entry.content === null) return this.#lstat(at) ? undefined : entry
    const content = await this.#side.read(entry)
    await this.#writeWith(at, content, { mode: entry.mode, mtime: entry.mtime })
    this.#side.remove(at)
    return undefined
  }

  #stat(at: string): Stats | undefined {
    try {
      return this.#files.statSync(at)
    } catch {
      return undefined
    }
  }

  #lstat(at: string): Stats | undefined {
    try {
      return this.#files.lstatSync(at)
    } catch {
      return undefined
    }
  }

  #shown(stats: Stats): ShellStat {
    const held = this.#held.get(stats.id)
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

  async #mkdir(path: string, recursive: boolean): Promise<void> {
    const at = this.#check(path, 'mkdir')
    const side = this.#side.get(at)
    const found = this.#lstat(at)
    if (side || found) {
      const isFile = found ? found.kind === 'file' : side?.content !== null
      if (isFile) throw fail('EEXIST', 'file already exists', 'mkdir', path)
      if (!recursive) throw fail('EEXIST', 'directory already exists', 'mkdir', path)
      return
    }
    const above = parentOf(at)
    if (!recursive && above !== '/' && !this.#side.has(above) && !this.#stat(above)) {
      throw fail('ENOENT', 'no such file or directory', 'mkdir', path)
    }
    if (this.#isBeside(at)) this.#side.mkdir(at)
    else await this.#done('mkdir', path, () => this.#files.mkdir(at, { recursive: true }))
  }

  async #hasChildren(at: string, side: SideEntry | undefined, found: Stats | undefined): Promise<boolean> {
    if (side && this.#side.children(at).length > 0) return true
    return found?.kind === 'directory' && this.#files.readdirSync(at).length > 0
  }

  #refuseDirectoryOverFile(isDirectory: boolean, target: string): void {
    const there = isDirectory ? this.#lstat(target) : undefined
    if (there && there.kind !== 'directory') throw fail('EEXIST', 'file already exists', 'mkdir', target)
  }

  /** Moves, and puts what is in a directory into one that is there. */
  async #move(source: string, target: string, isDirectory: boolean): Promise<void> {
    const there = isDirectory ? this.#lstat(target) : undefined
    if (there?.kind !== 'directory' || this.#files.readdirSync(target).length === 0) {
      return this.#files.mv(source, target)
    }
    for (const { name, kind } of this.#files.readdirSync(source)) {
      const [from, to] = [join(source, name), join(target, name)]
      this.#refuseDirectoryOverFile(kind === 'directory', to)
      await this.#move(from, to, kind === 'directory')
    }
    await this.#files.rm(source)
  }

  /** Copies where one end is not the workspace's. */
  async #copyAcross(source: string, target: string): Promise<void> {
    const stat = await this.lstat(source)
    if (stat.isDirectory) {
      await this.#mkdir(target, true)
      for (const name of await this.readdir(source)) await this.#copyAcross(join(source, name), join(target, name))
      return
    }
    const content = await this.readFileBuffer(source)
    await this.writeFile(target, content)
    if (this.#isBeside(target)) this.#side.write(target, content, stat)
    else await this.#writeWith(target, content, stat)
  }

  /** Holds a truncation back until it is known what follows. */
  async #hold(at: string, found: Stats): Promise<void> {
    const now = async (): Promise<string> => (await this.#files.describe(at, { follow: false })).version ?? ''
    const version = this.#read.get(found.id) ?? (await now())
    const timer = later(() => {
      const held = this.#held.get(found.id)
      // Nobody waits for it: who asks next is told if it cannot be done.
      if (held) this.#begin(() => this.#truncate(found.id, held))
    }, HOLD_MS)
    this.#held.set(found.id, { path: at, version, mode: this.#newMode(found), since: new Date(), timer })
  }

  /** Does the truncation of a file that is held back, if there is one. */
  async #release(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held) await this.#truncate(id, held)
  }

  async #truncate(id: string, held: Held): Promise<void> {
    if (this.#held.get(id) !== held) return
    this.#forget(id)
    // Gone meanwhile, or another file has its place: then there is nothing to empty.
    if (this.#lstat(held.path)?.id !== id) return
    await this.#put(held.path, new Uint8Array(), held.version, held.mode)
    // What follows is still based on what was there, so that what is typed from now on stays.
    this.#remember(id, (await this.#files.describe(held.path)).version ?? '')
  }

  #forget(id: string): void {
    const held = this.#held.get(id)
    if (held) never(held.timer)
    this.#held.delete(id)
    this.#read.delete(id)
  }

  async #write(at: string, bytes: Uint8Array, found: Stats | undefined, path: string): Promise<void> {
    const base = found && (this.#held.get(found.id)?.version ?? this.#read.get(found.id))
    if (found) this.#forget(found.id)
    const mode = this.#newMode(found)
    await this.#done('open', path, () => this.#put(at, bytes, found?.kind === 'file' ? base : undefined, mode))
    // What was there already is no edit; but to scripts a file that was written is new, a stamp of a build above all.
    if (found && this.#lstat(at)?.mtimeMs === found.mtimeMs) await this.#files.utimes(at, Date.now())
  }

  /** Returns the mode that a file gets when it is written, if it has another. */
  #newMode(found: Stats | undefined): number | undefined {
    return this.#isPosix && found?.kind === 'file' && found.mode !== FILE_MODE ? FILE_MODE : undefined
  }

  /** Makes bytes the content of a file, based on what had been read. */
  async #put(at: string, bytes: Uint8Array, baseVersion?: string, mode?: number): Promise<void> {
    try {
      await this.#files.writeFile(at, bytes, { baseVersion, mode, follow: false })
    } catch (error) {
      if (codeOf(error) !== 'ESTALE') throw error
      // The base is gone: then what is there now is the base.
      await this.#files.writeFile(at, bytes, { mode, follow: false })
    }
  }

  async #writeWith(at: string, bytes: Uint8Array, meta: { mode?: number; mtime?: Date }): Promise<void> {
    const mode = this.#isPosix ? meta.mode : undefined
    await this.#files.writeFile(at, bytes, { mode, mtimeMs: meta.mtime && Number(meta.mtime), follow: false })
  }

  #noteRead(at: string, version: string): void {
    const id = this.#stat(at)?.id
    if (id !== undefined) this.#remember(id, version)
  }

  #remember(id: string, version: string): void {
    this.#read.delete(id)
    this.#read.set(id, version)
    if (this.#read.size > MAX_READ) this.#read.delete(this.#read.keys().next().value!)
  }

  /** Does something after what synchronous calls have begun before. */
  #begin(work: () => Promise<void>): void {
    const begun: Promise<void> = (this.#begun ?? Promise.resolve()).then(work)
    // Whoever asks next is told of a failure.
    begun.catch(() => undefined)
    this.#begun = begun
  }

  /** Waits for what synchronous calls have begun. */
  async #settled(): Promise<void> {
    while (this.#begun) {
      const begun = this.#begun
      try {
        await begun
      } finally {
        if (this.#begun === begun) this.#begun = undefined
      }
    }
  }

  /** Follows links of the workspace that lead to something beside it; only where the workspace found nothing. */
  async #throughLinks(at: string, error: unknown): Promise<string | undefined> {
    if (error !== undefined && codeOf(error) !== 'ENOENT') return undefined
    let walked = '/'
    const names = at.split('/').filter(Boolean)
    for (let n = 0; n < 40 && names.length > 0; ) {
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
    const code = codeOf(error)
    // A file on the way is, to just-bash, a path that is not there.
    if (code === 'ENOENT' || (code === 'ENOTDIR' && op !== 'scandir')) {
      return fail('ENOENT', 'no such file or directory', op, path)
    }
    const text = TEXTS[code ?? '']
    // Where links lead in circles, just-bash mostly says so of an opening.
    if (code === 'ELOOP') return fail(code, TEXTS[code]!, SAYS_ITSELF.has(op) ? op : 'open', op === 'utimes' ? resolve(this.#cwd, path) : path)
    return code !== undefined && text !== undefined ? fail(code, text, op, path) : error
  }
}

/** What just-bash says of codes. */
const TEXTS: Record<string, string> = {
  EINVAL: 'invalid argument',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
  EEXIST: 'file already exists',
}

/** What says of itself that links lead in circles. */
const SAYS_ITSELF = new Set(['lstat', 'scandir'])

function fail(code: string, text: string, op: string, path: string): YfsError {
  const error = plain(code, `${code}: ${text}, ${op} '${path}'`)
  return Object.assign(error, { syscall: op, path })
}

function plain(code: string, message: string): YfsError {
  return Object.assign(new YfsError(message), { code })
}

function codeOf(error: unknown): string | undefined {
  return error instanceof YfsError ? error.code : undefined
}
