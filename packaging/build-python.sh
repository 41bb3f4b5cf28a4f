#!/usr/bin/env bash
# Builds the wheel of the Python package for this platform: target/dist/yfs-VERSION-*.whl. One wheel
# serves Python 3.10 and all later versions.
#
# Needs Python 3.10 or newer with venv, and maturin.
set -euo pipefail
cd "$(dirname "$0")/.."

# A module that was built for trying belongs to no wheel.
rm -f crates/doors/yfs-python/python/yfs/_native*.so
maturin build --release --locked --manifest-path crates/doors/yfs-python/Cargo.toml --out target/dist

# The wheel is installed into an empty environment and used.
tried=$(mktemp -d)
trap 'rm -rf "$tried"' EXIT
python3 -m venv "$tried"
"$tried/bin/pip" install --quiet --disable-pip-version-check --no-index target/dist/yfs-*-abi3-*.whl
(cd "$tried" && bin/python -c "
import yfs
with yfs.open(':memory:') as ws:
    ws.files().write('/a.txt', 'the package works')
    print(ws.files().read_text('/a.txt'))")
wc -c target/dist/yfs-*-abi3-*.whl
