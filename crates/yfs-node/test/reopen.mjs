// Says what a workspace holds, as another process finds it: the trees below `/0`, `/1` and so on.

import { Workspace } from '../dist/index.js'
import { treeOf } from './support.mjs'

const [file, policy] = process.argv.slice(2)
const ws = await Workspace.open(file, { readOnly: true })
const fs = ws.asIFileSystem({ policy })
const trees = []
for (let index = 0; await fs.exists(`/${index}`); index += 1) trees.push(await treeOf(fs, [`/${index}`]))
await ws.close()
process.stdout.write(JSON.stringify(trees))
