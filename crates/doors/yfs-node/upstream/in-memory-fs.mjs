// Takes the place of just-bash's `InMemoryFs` in its own tests: each one is a workspace in memory, as a shell sees it.

import { ShellFs, Workspace } from '../dist/index.js'

const policy = process.env.YFS_POLICY ?? 'posix'

export class InMemoryFs extends ShellFs {
  constructor(files = {}) {
    const workspace = Workspace.inMemory()
    super(workspace.files, workspace.id, { policy })
    for (const [path, file] of Object.entries(files)) {
      if (typeof file === 'function') this.writeFileLazy(path, file)
      else if (typeof file === 'string' || file instanceof Uint8Array) this.writeFileSync(path, file)
      else this.writeFileSync(path, file.content, undefined, { mode: file.mode, mtime: file.mtime })
    }
  }
}
