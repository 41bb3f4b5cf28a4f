// A person types into a live CodeMirror while scripts append to, edit and redirect into the same
// file.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bash } from 'just-bash'
import { JSDOM } from 'jsdom'
import * as Y from 'yjs'
import { bind } from '../dist/yjs.js'
import { inMemory } from './support.mjs'

test('every key survives, and the caret stays behind the last', async (t) => {
  const { window } = new JSDOM('<div id="editor"></div>', { pretendToBeVisual: true })
  // CodeMirror looks for its browser among the globals.
  const names = [
    'Window',
    'document',
    'MutationObserver',
    'getComputedStyle',
    'requestAnimationFrame',
    'cancelAnimationFrame',
  ]
  Object.assign(
    globalThis,
    { window },
    Object.fromEntries(names.map((name) => [name, window[name]])),
  )
  const { EditorState } = await import('@codemirror/state')
  const { EditorView } = await import('@codemirror/view')
  const { yCollab } = await import('y-codemirror.next')

  const ws = await inMemory(t)
  const bash = new Bash({ fs: ws.asIFileSystem({ actor: 'agent:scripts' }), cwd: '/' })
  await ws.files.writeFile('/notes.txt', 'Typed: \nLog:\ncount 0\n')
  const doc = new Y.Doc()
  const binding = await bind(ws, (await ws.document('/notes.txt')).guid, doc, {
    actor: 'human:ada',
  })
  const text = doc.getText('text')
  const state = EditorState.create({ doc: text.toString(), extensions: [yCollab(text, null)] })
  const view = new EditorView({ state, parent: window.document.getElementById('editor') })
  t.after(() => {
    view.destroy()
    window.close()
  })
  view.dispatch({ selection: { anchor: 'Typed: '.length } })

  // A key may come between any two steps of a script: in each turn of the event loop.
  let typed = ''
  const type = () => {
    const key = String.fromCharCode(97 + (typed.length % 26))
    const at = view.state.selection.main.head
    view.dispatch({ changes: { from: at, insert: key }, selection: { anchor: at + 1 } })
    typed += key
  }
  const timer = setInterval(type, 1000 / 30)
  t.after(() => clearInterval(timer))
  for (let n = 1; n <= 200; n += 1) {
    if (n % 3 === 0) await bash.exec(`echo "entry ${n}" >> notes.txt`)
    else if (n % 3 === 1) await bash.exec(`sed -i 's/^count .*/count ${n}/' notes.txt`)
    else await bash.exec(`grep -v '^entry' notes.txt > new.txt; cat new.txt > notes.txt`)
    type()
    assert.equal(view.state.sliceDoc(0, view.state.selection.main.head), `Typed: ${typed}`)
  }
  clearInterval(timer)
  await binding.settled()
  const notes = await ws.files.readText('/notes.txt')
  assert.ok(notes.includes(`Typed: ${typed}`), notes.slice(0, 400))
  assert.equal(view.state.doc.toString(), text.toString())
  assert.equal(view.state.sliceDoc(0, view.state.selection.main.head), `Typed: ${typed}`)
  await binding.close()
})
