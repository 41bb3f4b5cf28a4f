// A workspace as `node:fs`: what `asNodeFs` returns.

import type * as NodeFsModule from 'node:fs'
import type { NativeFs } from './native.js'
import { facesOf } from './nodefs/faces.js'
import { Kernel } from './nodefs/kernel.js'
import { Operations } from './nodefs/operations.js'
import { numberOf } from './nodefs/stats.js'
import { run } from './nodefs/steps.js'
import { Tree } from './nodefs/tree.js'
import type { Changes } from './nodefs/watch.js'
import { normalize } from './paths.js'

/** Options of a workspace as `node:fs`. */
export interface NodeFsOptions {
  /** The directory that relative paths start from. */
  cwd?: string
  /** The author of changes. */
  actor?: string
  /** The task, which blame and versions show. */
  label?: string
}

type Named =
  | 'access'
  | 'appendFile'
  | 'chmod'
  | 'chown'
  | 'close'
  | 'copyFile'
  | 'cp'
  | 'exists'
  | 'fchmod'
  | 'fchown'
  | 'fdatasync'
  | 'fstat'
  | 'fsync'
  | 'ftruncate'
  | 'futimes'
  | 'lchown'
  | 'link'
  | 'lstat'
  | 'lutimes'
  | 'mkdir'
  | 'mkdtemp'
  | 'open'
  | 'opendir'
  | 'read'
  | 'readFile'
  | 'readdir'
  | 'readlink'
  | 'readv'
  | 'realpath'
  | 'rename'
  | 'rm'
  | 'rmdir'
  | 'stat'
  | 'symlink'
  | 'truncate'
  | 'unlink'
  | 'utimes'
  | 'write'
  | 'writeFile'
  | 'writev'

type ByPromise = Exclude<
  Named,
  'close' | 'exists' | 'read' | 'readv' | 'write' | 'writev' | `f${string}`
>

/** The members of `node:fs`, over a workspace. Each may be called without the object. */
export type NodeFs = Pick<
  typeof NodeFsModule,
  | Named
  | `${Named}Sync`
  | 'createReadStream'
  | 'createWriteStream'
  | 'watch'
  | 'constants'
  | 'Stats'
  | 'Dirent'
  | 'Dir'
> & { promises: Pick<typeof NodeFsModule.promises, ByPromise | 'watch' | 'constants'> }

/** A workspace lent as `node:fs`, and how to do what it holds back. */
export interface LentNodeFs {
  fs: NodeFs
  flush(): Promise<void>
}

/** Lends the files of a workspace as `node:fs`. */
export function lendNodeFs(
  native: NativeFs,
  workspaceId: string,
  isReadOnly: boolean,
  changes: Changes,
  options: NodeFsOptions,
): LentNodeFs {
  const kernel = new Kernel(new Tree(native, normalize(options.cwd ?? '/')))
  // As large as a device's number may be.
  const device = numberOf(workspaceId) % 0x7fffffff
  const fs = facesOf(new Operations(kernel, device, isReadOnly), changes) as unknown as NodeFs
  return { fs, flush: () => run(kernel.settle()) }
}
