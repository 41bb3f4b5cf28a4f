#!/usr/bin/env bash
# Measures peers of the release `yfs` on loopback, beside `yfs clone`, `git fetch` and Syncthing, and
# one edit and an idle process beside hyperswarm and y-webrtc.
#
#   tests/benches/peers.sh [--dir DIRECTORY] [--files N] [--edits N] [--peers N] [--idle SECONDS]
#
# The default is 10,000 files of 1 KB, 50 edits, 10 peers and 60 seconds. Data is made anew below
# DIRECTORY (default: a new directory below TMPDIR) and removed at the end. YFS names the program to
# measure; the default is target/release/yfs. SYNCTHING names that of Syncthing (Debian package
# syncthing); without it, its rows are left out. hyperswarm and y-webrtc are installed by npm, and
# left out without it.
#
# As root the script runs in a network namespace of its own, so that the bytes on loopback are those
# of the measured programs, frames and headers included. Otherwise they include all others'.
set -euo pipefail
cd "$(dirname "$0")/../.."

yfs=${YFS:-target/release/yfs}
dir=
files=10000 edits=50 peers=10 idle=60
usage() {
    echo "usage: peers.sh [--dir DIRECTORY] [--files N] [--edits N] [--peers N] [--idle SECONDS]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --dir) dir=$2 ;;
        --files) files=$2 ;;
        --edits) edits=$2 ;;
        --peers) peers=$2 ;;
        --idle) idle=$2 ;;
        *) usage ;;
    esac
    shift 2
done

missing=()
[ -x "$yfs" ] || missing+=("$yfs (cargo build --release -p yfs-cli)")
command -v git > /dev/null || missing+=("git (Debian package git)")
command -v python3 > /dev/null || missing+=("python3 (Debian package python3)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'peers.sh: missing: %s\n' "${missing[@]}" >&2
    exit 1
fi
syncthing=${SYNCTHING:-$(command -v syncthing || true)}
[ -n "$syncthing" ] || echo "peers.sh: without Syncthing: the Debian package is not installed" >&2

made=$(mktemp -d "${dir:-${TMPDIR:-/tmp}}/yfs-peers.XXXXXX")
trap 'rm -rf "$made"' EXIT
js_peers=$made/js
mkdir "$js_peers"
if ! npm install --prefix "$js_peers" --no-audit --no-fund yjs@13.6.27 hyperswarm@4.17.2 \
    hyperdht@6.34.0 y-webrtc@10.3.0 @roamhq/wrtc@0.10.0 ws@8.23.0 > "$made/npm.log" 2>&1; then
    echo "peers.sh: without hyperswarm and y-webrtc: npm cannot install them" >&2
    js_peers=
fi
measure=(python3 -I tests/benches/peers/measure.py
    "$made" "$files" "$edits" "$peers" "$idle")
export YFS SYNCTHING=$syncthing JS_PEERS=$js_peers
YFS=$(realpath "$yfs")
if unshare --net true 2> /dev/null; then
    unshare --net sh -c 'ip link set lo up && exec "$@"' sh "${measure[@]}"
else
    echo "peers.sh: without a network namespace: bytes include those of other programs" >&2
    "${measure[@]}"
fi
