#!/usr/bin/env bash
# Measures whole processes of the release `yfs`, beside git, ripgrep and AgentFS.
#
#   tests/benches/cold.sh [--dir DIRECTORY] [--runs N] [--only PATTERN] [SIZE...]
#
# SIZE is a number of files of 1 KB, in directories of 100; the default is 1000 10000 100000.
# 1000000 needs 20 GB below DIRECTORY (default: a new directory below TMPDIR) and about an hour.
# Data is made anew and removed at the end. YFS names the program to measure; the default is
# target/release/yfs. --only measures the commands whose names match a regular expression.
#
# Prints tables of the median CPU time in milliseconds (user and system) and of the greatest
# resident memory in KB, for each command and size. AgentFS is measured up to 10,000 files, because
# its SDK takes milliseconds for each file that it creates.
set -euo pipefail
cd "$(dirname "$0")/../.."

yfs=${YFS:-target/release/yfs}
dir=
runs=9
only=.
sizes=()
usage() { echo "usage: cold.sh [--dir DIRECTORY] [--runs N] [--only PATTERN] [SIZE...]" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
        --dir | --runs | --only) [ $# -ge 2 ] || usage ;;&
        --dir) dir=$2; shift 2 ;;
        --runs) runs=$2; shift 2 ;;
        --only) only=$2; shift 2 ;;
        -* | *[!0-9]*) usage ;;
        *) sizes+=("$1"); shift ;;
    esac
done
[ ${#sizes[@]} -gt 0 ] || sizes=(1000 10000 100000)

missing=()
[ -x "$yfs" ] || missing+=("$yfs (cargo build --release -p yfs-cli)")
command -v git > /dev/null || missing+=("git (Debian package git)")
command -v rg > /dev/null || missing+=("rg (Debian package ripgrep)")
command -v python3 > /dev/null || missing+=("python3 (Debian packages python3, python3-venv)")
[ -x /usr/bin/time ] || missing+=("/usr/bin/time (Debian package time)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'cold.sh: missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

made=$(mktemp -d "${dir:-${TMPDIR:-/tmp}}/yfs-cold.XXXXXX")
trap 'rm -rf "$made"' EXIT
agentfs=
if python3 -m venv "$made/venv" > "$made/venv.log" 2>&1 &&
    "$made/venv/bin/pip" install --quiet agentfs-sdk >> "$made/venv.log" 2>&1; then
    agentfs=$made/venv/bin/python
else
    echo "cold.sh: without AgentFS: the package agentfs-sdk of PyPI cannot be installed" >&2
fi
YFS=$(realpath "$yfs") AGENTFS=$agentfs RUNS=$runs ONLY=$only \
    python3 -I tests/benches/cold/measure.py "$made" "${sizes[@]}"
