// What an agent does with its one tool: the example commands of the design, over a workspace.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bash, InMemoryFs } from 'just-bash'
import { inMemory } from './support.mjs'

const FILES = {
  '/CHANGELOG.md': ['# Changes\n', '2024-03-01'],
  '/docs/api.md': ['# API\n\nTODO: name the errors\n\n## Files\n', '2024-01-01'],
  '/docs/guide.md': ['Begin here. TODO: where?\n', '2024-04-01'],
  '/docs/notes.txt': ['TODO: not markdown\n', '2024-04-01'],
  '/src/index.ts': ['export * from "./old"\n', '2024-05-01'],
  '/src/old.ts': ['export {}\n', '2023-01-01'],
}

/** The four commands, and what they print. */
const COMMANDS = {
  'grep -rn "TODO" / --include="*.md" | sort | head -20':
    '//docs/api.md:3:TODO: name the errors\n//docs/guide.md:1:Begin here. TODO: where?\n',
  'find / -name "*.ts" -newer /CHANGELOG.md': '/src/index.ts\n',
  'cat /docs/api.md | wc -l': '5\n',
  'ls -la /src/': [
    'total 4',
    'drwxr-xr-x 1 user user     0 Jan  1 00:00 .',
    'drwxr-xr-x 1 user user     0 Jan  1 00:00 ..',
    '-rw-r--r-- 1 user user    22 May  1  2024 index.ts',
    '-rw-r--r-- 1 user user    10 Jan  1  2023 old.ts\n',
  ].join('\n'),
}

test('the example commands of the design', async (t) => {
  const ws = await inMemory(t)
  for (const fs of [new InMemoryFs(), ws.asIFileSystem({ actor: 'agent:bot' })]) {
    const bash = new Bash({ fs, cwd: '/' })
    for (const [path, [text, day]] of Object.entries(FILES)) {
      await fs.writeFile(path, text)
      await fs.utimes(path, new Date(day), new Date(day))
    }
    for (const [command, expected] of Object.entries(COMMANDS)) {
      const { stdout, stderr, exitCode } = await bash.exec(command)
      assert.deepEqual({ stdout, stderr, exitCode }, { stdout: expected, stderr: '', exitCode: 0 })
    }
  }
  // The shell's own files are not in the workspace.
  assert.deepEqual(
    ws.files.readdirSync('/').map(({ name }) => name),
    ['CHANGELOG.md', 'docs', 'src'],
  )
})
