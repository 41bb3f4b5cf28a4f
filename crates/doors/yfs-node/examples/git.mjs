// Commits what is in a workspace to a git repository in the same workspace: `node examples/git.mjs
// notes.db "A message"`.
//
// The repository lies in `/.git`, where isomorphic-git keeps it through `asNodeFs`. Users can type
// meanwhile: a commit is what the files held when each was read.

import { fileURLToPath } from 'node:url'
import git from 'isomorphic-git'
import { Workspace } from 'yfs'

/**
 * Commits all files of a workspace; resolves to the commit, or to nothing if nothing had changed.
 */
export async function commitAll(workspace, message, author) {
  const fs = workspace.asNodeFs({ actor: 'system:git' })
  const repository = { fs, dir: '/', cache: {} }
  if (!fs.existsSync('/.git')) await git.init({ ...repository, defaultBranch: 'main' })
  const changed = (await git.statusMatrix(repository)).filter(
    ([, head, workdir]) => head !== workdir,
  )
  if (changed.length === 0) return undefined
  for (const [filepath, , workdir] of changed) {
    if (workdir === 0) await git.remove({ ...repository, filepath })
    else await git.add({ ...repository, filepath })
  }
  return git.commit({ ...repository, message, author })
}

/** Lists the commits, newest first. */
export async function commits(workspace) {
  const log = await git.log({ fs: workspace.asNodeFs(), dir: '/' })
  return log.map(({ oid, commit }) => ({ oid, message: commit.message.trim() }))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const workspace = await Workspace.open(process.argv[2] ?? ':memory:')
  const [author, message] = [{ name: 'yfs', email: 'yfs@example.org' }, process.argv[3] ?? 'Save']
  if (!workspace.files.existsSync('/notes.md'))
    await workspace.files.writeFile('/notes.md', '# Notes\n')
  console.log((await commitAll(workspace, message, author)) ?? 'nothing has changed')
  for (const { oid, message: said } of await commits(workspace))
    console.log(`${oid.slice(0, 7)} ${said}`)
  await workspace.close()
}
