// The calls of `fs` that work on whole trees: `rm` and `cp`. As in Node, they are made of
// the others, and refuse what Node refuses, in its words.

import { dirname, isAbsolute, resolve } from 'node:path'
import { isWithin, join } from '../paths.js'
import { pathOf } from './arguments.js'
import { codeOf, failure, systemError } from './failures.js'
import type { Operations } from './operations.js'
import type { Facts } from './stats.js'
import type { Steps } from './steps.js'

/** How a tree is copied: the options of `fs.cp`. */
export interface CpOptions {
  dereference?: boolean
  errorOnExist?: boolean
  filter?: (source: string, destination: string) => boolean | Promise<boolean>
  force?: boolean
  preserveTimestamps?: boolean
  recursive?: boolean
  verbatimSymlinks?: boolean
}

/** What is at both ends of a copy. */
interface Ends {
  source: Facts
  there: Facts | undefined
}

/** Removes a file or directory, as `fs.rm` does. */
export function* rm(
  fs: Operations,
  path: unknown,
  options: { force?: boolean; recursive?: boolean } = {},
): Steps<void> {
  const { force = false, recursive = false } = options ?? {}
  const text = pathOf(path)
  const { tree } = fs
  let place
  let found
  try {
    place = tree.find(text, 'lstat', text)
    found = tree.must(place, false)
  } catch (error) {
    if (force && codeOf(error) === 'ENOENT') return
    throw error
  }
  if (found.kind === 'directory' && !recursive) {
    const context = { syscall: 'rm', reason: 'EISDIR', message: 'is a directory', path: text }
    throw systemError('ERR_FS_EISDIR', 'Path is a directory', context)
  }
  if (place.at === '/') throw failure('EBUSY', 'rm', text)
  if (place.dots !== '') throw failure(place.dots === '.' ? 'EINVAL' : 'ENOTEMPTY', 'rm', text)
  yield* fs.kernel.detach(place.at)
  yield* tree.remove(place.at, true)
}

/** Copies a file or directory, as `fs.cp` does. */
export function* cp(
  fs: Operations,
  from: unknown,
  to: unknown,
  options: CpOptions = {},
): Steps<void> {
  const [source, target] = [pathOf(from, 'src'), pathOf(to, 'dest')]
  if (!(yield* passes(options, source, target))) return
  const ends = look(fs, source, target, options)
  check(fs, source, target, ends)
  const parent = dirname(target)
  if (!(yield* fs.exists(parent))) yield* fs.mkdir(parent, { recursive: true })
  yield* copy(fs, source, target, ends, options)
}

function* passes(options: CpOptions, source: string, target: string): Steps<boolean> {
  const { filter } = options
  if (filter === undefined) return true
  const answer = filter(source, target)
  return yield { now: () => answer, later: () => Promise.resolve(answer) }
}

function look(fs: Operations, source: string, target: string, options: CpOptions): Ends {
  const follow = options.dereference ?? false
  const syscall = follow ? 'stat' : 'lstat'
  const { tree } = fs
  const there = (): Facts | undefined => {
    try {
      return tree.look(tree.find(target, syscall, target), follow)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }
  return { source: tree.must(tree.find(source, syscall, source), follow), there: there() }
}

/** Throws if the copy would replace or contain its source, or replace an entry of another kind. */
function check(fs: Operations, path: string, dest: string, { source, there }: Ends): void {
  const refuse = (code: string, text: string, reason: string, message: string): never => {
    throw systemError(code, text, { syscall: 'cp', reason, message, path: dest })
  }
  if (there?.id === source.id)
    refuse('ERR_FS_CP_EINVAL', 'Invalid src or dest', 'EINVAL', 'src and dest cannot be the same')
  const isDirectory = source.kind === 'directory'
  if (there && isDirectory && there.kind !== 'directory') {
    refuse(
      'ERR_FS_CP_DIR_TO_NON_DIR',
      'Cannot overwrite non-directory with directory',
      'EISDIR',
      `cannot overwrite non-directory ${dest} with directory ${path}`,
    )
  }
  if (there && !isDirectory && there.kind === 'directory') {
    refuse(
      'ERR_FS_CP_NON_DIR_TO_DIR',
      'Cannot overwrite directory with non-directory',
      'ENOTDIR',
      `cannot overwrite directory ${dest} with non-directory ${path}`,
    )
  }
  if (isDirectory && isInside(fs, path, dest)) {
    refuse(
      'ERR_FS_CP_EINVAL',
      'Invalid src or dest',
      'EINVAL',
      `cannot copy ${path} to a subdirectory of self ${dest}`,
    )
  }
}

/** Tells whether a path lies below a directory, by its text or by what is there. */
function isInside(fs: Operations, directory: string, path: string): boolean {
  if (isWithin(resolve('/', path), resolve('/', directory))) return true
  const { tree } = fs
  const real = tree.realpath(tree.find(directory, 'stat', directory).at)
  for (let above = dirname(path); ; above = dirname(above)) {
    try {
      return isWithin(tree.realpath(tree.find(above, 'stat', above).at), real)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || above === dirname(above)) return false
    }
  }
}

function* copy(
  fs: Operations,
  source: string,
  target: string,
  ends: Ends,
  options: CpOptions,
): Steps<void> {
  switch (ends.source.kind) {
    case 'directory':
      return yield* copyDirectory(fs, source, target, ends, options)
    case 'symlink':
      return yield* copyLink(fs, source, target, ends, options)
    default:
      return yield* copyFile(fs, source, target, ends, options)
  }
}

function* copyFile(
  fs: Operations,
  source: string,
  target: string,
  ends: Ends,
  options: CpOptions,
): Steps<void> {
  if (ends.there && options.force === false) {
    if (!options.errorOnExist) return
    const context = {
      syscall: 'cp',
      reason: 'EEXIST',
      message: `${target} already exists`,
      path: target,
    }
    throw systemError('ERR_FS_CP_EEXIST', 'Target already exists', context)
  }
  // What is there is replaced, and a link with it.
  if (ends.there?.kind === 'symlink') yield* fs.unlink(target)
  yield* fs.copyFile(source, target)
  if (options.preserveTimestamps) yield* fs.utimes(target, 0, ends.source.mtimeMs / 1000)
}

function* copyDirectory(
  fs: Operations,
  source: string,
  target: string,
  ends: Ends,
  options: CpOptions,
): Steps<void> {
  if (!options.recursive) {
    const context = {
      syscall: 'cp',
      reason: 'EISDIR',
      message: `${source} is a directory (not copied)`,
      path: source,
    }
    throw systemError('ERR_FS_EISDIR', 'Path is a directory', context)
  }
  if (!ends.there) yield* fs.mkdir(target, ends.source.mode)
  for (const { name } of fs.tree.names(fs.tree.find(source, 'opendir', source).at)) {
    const [from, to] = [join(source, name), join(target, name)]
    if (!(yield* passes(options, from, to))) continue
    const below = look(fs, from, to, options)
    check(fs, from, to, below)
    yield* copy(fs, from, to, below, options)
  }
  if (!ends.there) yield* fs.chmod(target, ends.source.mode)
}

function* copyLink(
  fs: Operations,
  source: string,
  target: string,
  ends: Ends,
  options: CpOptions,
): Steps<void> {
  let leads = String(yield* fs.readlink(source))
  if (!options.verbatimSymlinks && !isAbsolute(leads)) leads = resolve(dirname(source), leads)
  if (ends.there?.kind === 'symlink') yield* fs.unlink(target)
  else if (ends.there) throw failure('EEXIST', 'symlink', leads, target)
  yield* fs.symlink(leads, target)
}
