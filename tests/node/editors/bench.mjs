// Measures the editors' own pipelines: `node bench.mjs PROFILE`. Each line of stdin is a markdown
// text as JSON, each line of stdout `{write, read, load}`: seconds of CPU to make a Yjs update from
// the text, the text from a loaded document and a document from the update, by parser, serializer
// and y-prosemirror.

import { createInterface } from 'node:readline'
import * as Y from 'yjs'
import { prosemirrorToYXmlFragment, yXmlFragmentToProseMirrorRootNode } from 'y-prosemirror'
import { pipelineOf } from './editors.mjs'

// How long each is run, in ms of CPU, after as long for the compiler.
const WARM_UP = 1000
const MEASURED = 2000

const { schema, parse, serialize } = await pipelineOf(process.argv[2])

function write(text) {
  const doc = new Y.Doc({ gc: false })
  prosemirrorToYXmlFragment(parse(text), doc.getXmlFragment('richtext'))
  return Y.encodeStateAsUpdate(doc)
}

function load(update) {
  const doc = new Y.Doc({ gc: false })
  Y.applyUpdate(doc, update)
  return doc
}

const read = (doc) =>
  serialize(yXmlFragmentToProseMirrorRootNode(doc.getXmlFragment('richtext'), schema))

/** All threads count, garbage collection and compiler too. */
function cpu() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function run(task, least) {
  const before = cpu()
  let n = 0
  do {
    task()
    n++
  } while (cpu() - before < least)
  return (cpu() - before) / n / 1000
}

function time(task) {
  run(task, WARM_UP)
  return run(task, MEASURED)
}

for await (const line of createInterface({ input: process.stdin })) {
  const text = JSON.parse(line)
  const update = write(text)
  const doc = load(update)
  const tasks = { write: () => write(text), read: () => read(doc), load: () => load(update) }
  const times = Object.entries(tasks).map(([name, task]) => [name, time(task)])
  console.log(JSON.stringify(Object.fromEntries(times)))
}
process.exit(0)
