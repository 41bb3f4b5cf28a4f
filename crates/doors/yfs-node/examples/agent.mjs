// An agent whose only tool is a shell over a workspace: `node examples/agent.mjs notes.db`.
//
// `runAgent` is the loop that every agent has: ask the model, run its tool calls, and return the
// results to it. The model here is a script, so that this runs without a network; put a call of
// yours in its place. What people type in their editors meanwhile stays, and `yfs blame` tells
// whose each line is.

import { fileURLToPath } from 'node:url'
import { Bash } from 'just-bash'
import { Workspace } from 'yfs'

/** The one tool, as models get its description. */
export const TOOL = {
  name: 'bash',
  description:
    'Runs a command in a shell. The files are shared with people who edit them at the same time.',
  input_schema: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
  },
}

/** Works on a task until the model has nothing more to run; resolves to what it says in the end. */
export async function runAgent(workspace, model, task) {
  const bash = new Bash({
    fs: workspace.asIFileSystem({ actor: 'agent:writer', label: task }),
    cwd: '/',
  })
  const messages = [{ role: 'user', content: task }]
  for (;;) {
    const answer = await model({ messages, tools: [TOOL] })
    messages.push({ role: 'assistant', content: answer })
    if (answer.command === undefined) return answer.text
    const { stdout, stderr, exitCode } = await bash.exec(answer.command)
    messages.push({
      role: 'tool',
      content: `${stdout}${stderr}${exitCode === 0 ? '' : `[exit status ${exitCode}]\n`}`,
    })
  }
}

/** A model that answers from a list; a function in it gets the output of the last command. */
export function scripted(steps) {
  let n = 0
  return async ({ messages }) => {
    const step = steps[n++]
    return typeof step === 'function' ? step(messages.at(-1).content) : step
  }
}

export const SCRIPT = [
  { command: 'ls -R / | head; cat /notes/*.md' },
  { command: `grep -rn 'TODO' /notes | tee /tmp/found | wc -l` },
  {
    command:
      `sed -i 's/TODO: /- [ ] /' /notes/*.md && ` +
      `cat /tmp/found | cut -d: -f1 | sort -u > /notes/open.txt`,
  },
  { command: 'cat /notes/open.txt; grep -c "\\[ \\]" /notes/plan.md' },
  (seen) => ({ text: `Made a list of what is open:\n${seen}` }),
]

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const workspace = await Workspace.open(process.argv[2] ?? ':memory:')
  if (!workspace.files.existsSync('/notes/plan.md')) {
    await workspace.files.writeFile('/notes/plan.md', '# Plan\n\nTODO: listen\n\nTODO: answer\n')
  }
  console.log(await runAgent(workspace, scripted(SCRIPT), 'Make a list of what is open'))
  await workspace.close()
}
