// A document with an element that the schema cannot build is never bound: the binding would delete
// the element for everyone. Neither is one that gets such an element while it is open.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { assertEqual, scenario, shows, until } from './one_file.mjs'

function connect(stage, guid) {
  const doc = new Y.Doc({ gc: false })
  const provider = new WebsocketProvider(
    `${stage.server.url.replace('http', 'ws')}/sync`,
    guid,
    doc,
    {
      params: { token: stage.server.token },
      WebSocketPolyfill: WebSocket,
      disableBc: true,
    },
  )
  return { doc, provider, fragment: doc.getXmlFragment('richtext') }
}

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen.\n')
  },
  async (stage) => {
    const { entries } = await (await stage.fetch('/api/tree')).json()
    const { guid } = entries.find(({ path }) => path === '/plan.md')
    const peer = connect(stage, guid)
    await until(() => peer.provider.synced, 'the peer')
    const ana = await stage.open('/plan.md')
    await shows(ana, 'richtext')
    await ana.waitForSelector('.ProseMirror h1')

    const strange = new Y.XmlElement('from_the_future')
    strange.insert(0, [new Y.XmlText('Kept.')])
    peer.fragment.insert(1, [strange])
    await ana.waitForSelector('.source-view', { timeout: 120_000 })
    const late = await stage.open('/plan.md', { name: 'Ben' })
    await late.waitForSelector('.source-view', { timeout: 120_000 })
    for (const page of [ana, late]) {
      const notices = await page.locator('.editor-notice').allTextContents()
      if (!notices.some((text) => text.includes('read-only'))) throw new Error('no notice')
    }
    // What either page wrote would have come before this.
    peer.fragment.get(0).setAttribute('level', 2)
    const has = async () => (await stage.yfs('cat', '/plan.md')).startsWith('## Plan')
    await until(has, 'the last change')
    assertEqual(
      peer.fragment
        .toArray()
        .map(({ nodeName }) => nodeName)
        .slice(0, 2),
      ['heading', 'from_the_future'],
      'the blocks',
    )
    peer.provider.destroy()
  },
)
