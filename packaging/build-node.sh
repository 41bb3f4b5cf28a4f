#!/usr/bin/env bash
# Builds the addon of the npm package for this platform, and packs the package with all addons that
# are in crates/doors/yfs-node/prebuilds: target/dist/yfs-VERSION.tgz.
#
#   packaging/build-node.sh [--addon-only]
#
# A release runs it with --addon-only on each platform, collects the directories `prebuilds`, and
# runs it once without. Needs Node.js 20 with npm.
set -euo pipefail
cd "$(dirname "$0")/.."

package=crates/doors/yfs-node
cargo build --release --locked -p yfs-node
built=${CARGO_TARGET_DIR:-target}/release
platform=$(node -p 'process.platform + "-" + process.arch')
prebuilt=$package/prebuilds/$platform
mkdir -p "$prebuilt"
for library in libyfs_node.so libyfs_node.dylib yfs_node.dll; do
    [ -f "$built/$library" ] && cp "$built/$library" "$prebuilt/yfs.node"
done
wc -c "$prebuilt/yfs.node"
[ "${1:-}" = --addon-only ] && exit

npm --prefix $package ci --ignore-scripts --no-audit --no-fund
npm --prefix $package run --silent build
mkdir -p target/dist
(cd $package && npm pack --ignore-scripts --pack-destination ../../target/dist)

# The packed package is installed into an empty directory and used.
tried=$(mktemp -d)
trap 'rm -rf "$tried"' EXIT
mkdir -p "$tried/node_modules/yfs"
version=$(node -p "require('./$package/package.json').version")
tar -xzf "target/dist/yfs-$version.tgz" -C "$tried/node_modules/yfs" --strip-components=1
(cd "$tried" && env -u YFS_NODE_ADDON node --input-type=module -e "
import { Workspace } from 'yfs'
const ws = await Workspace.open(':memory:')
await ws.files.writeFile('/a.txt', 'the package works')
console.log(await ws.files.readText('/a.txt'))
await ws.close()")
wc -c "target/dist/yfs-$version.tgz"
