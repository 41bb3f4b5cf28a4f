#!/usr/bin/env bash
# Measures statistics, artifacts and contexts of the release `yfs`, beside jq, Python and cp.
#
#   tests/benches/artifacts.sh [--dir DIRECTORY] [--mb N] [--large-mb N] [--files N]
#
# The default is 100 MB for each kind of file, a table of 1,000 MB, and 10,000 files of 1 KB. Data
# is made anew below DIRECTORY (default: a new directory below TMPDIR) and removed at the end. YFS
# names the program to measure; the default is target/release/yfs. qsv and xsv are measured if they
# are in PATH (`cargo install xsv --root DIR`, then `PATH=DIR/bin:$PATH`).
#
# Times are CPU time of whole processes, in user mode and in the kernel: the store is read, too.
set -euo pipefail
cd "$(dirname "$0")/../.."

yfs=${YFS:-target/release/yfs}
dir=
mb=100 large=1000 files=10000
usage() {
    echo "usage: artifacts.sh [--dir DIRECTORY] [--mb N] [--large-mb N] [--files N]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --dir) dir=$2 ;;
        --mb) mb=$2 ;;
        --large-mb) large=$2 ;;
        --files) files=$2 ;;
        *) usage ;;
    esac
    shift 2
done
missing=()
[ -x "$yfs" ] || missing+=("$yfs (cargo build --release -p yfs-cli)")
command -v jq > /dev/null || missing+=("jq (Debian package jq)")
command -v python3 > /dev/null || missing+=("python3 (Debian package python3)")
if [ ${#missing[@]} -gt 0 ]; then
    echo "artifacts.sh: not found: ${missing[*]}" >&2
    exit 1
fi
yfs=$(realpath "$yfs")
dir=$(mktemp -d "${dir:-${TMPDIR:-/tmp}}/yfs-artifacts.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export YFS="$yfs"
exec 3>&1
cd "$dir"
python3 - "$mb" "$large" "$files" << 'PYTHON'
import csv, json, os, random, resource, shutil, subprocess, sys, time

mb, large, n_files = (int(number) for number in sys.argv[1:])
yfs = os.environ["YFS"]
random.seed(7)
places = [f"pier {n}" for n in range(200)]
words = "calm storm wind tide gauge level water high low north south harbor report".split()


def run(command, stdin=None, n=1):
    """Runs a command n times; returns CPU ms of one run and the greatest memory in MB."""
    cpu = memory = 0
    for _ in range(n):
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{command}: exit {child.returncode}")
        cpu += used.ru_utime + used.ru_stime
        memory = max(memory, used.ru_maxrss / 1024)
    return cpu * 1000 / n, memory


def fill(name, size, head, piece, tail="", between=""):
    with open(name, "w") as file:
        file.write(head)
        n = 0
        while file.tell() < size:
            block = [piece(n + at) for at in range(1000)]
            n += 1000
            file.write((between if n > 1000 else "") + between.join(block))
        file.write(tail)


def row(n):
    level = random.random() * 10
    return f"{n},{places[n % 200]},{level:.3f},2026-11-{n % 28 + 1:02},{words[n % 13]}\n"


def record(n):
    return json.dumps({"id": n, "place": places[n % 200], "level": n % 97, "tags": words[:n % 4]})


def text(n):
    return " ".join(random.choice(words) for _ in range(12))


def log(n):
    level = ["INFO", "WARN", "ERROR"][n % 17 % 3]
    return f"2026-11-26T08:{n % 60:02}:00Z {level} gauge {n} {words[n % 13]}\n"


size = mb << 20
fill("rows.csv", size, "id,place,level,day,word\n", row)
fill("records.json", size, "[", record, "]", ",\n")
fill("lines.jsonl", size, "", record, "\n", "\n")
fill("page.html", size, "<!doctype html><title>Tides</title><body>",
     lambda n: f"<h2>Day {n}</h2><p>{text(n)} <a href='/{n}'>more</a></p>\n", "</body>")
fill("notes.md", size, "# Tides\n\n", lambda n: f"## Day {n}\n\n- {text(n)} [more](/{n})\n\n")
fill("server.log", size, "", log)
with open("random.bin", "wb") as file:
    for _ in range(mb):
        file.write(random.randbytes(1 << 20))

PY_CSV = """
import csv, sys
rows = csv.reader(open(sys.argv[1], newline=''))
seen = [set() for _ in next(rows)]
for row in rows:
    for known, cell in zip(seen, row):
        try: float(cell)
        except ValueError: pass
        known.add(cell)
"""
PY_JSON = """
import json, sys
fields = {}
for record in json.load(open(sys.argv[1])):
    for key, value in record.items():
        fields.setdefault(key, set()).add(str(value))
"""
PY_LINES = """
import json, sys
fields = {}
for line in open(sys.argv[1]):
    for key, value in json.loads(line).items():
        fields.setdefault(key, set()).add(str(value))
"""
PY_HTML = """
import html.parser, sys
class Counter(html.parser.HTMLParser):
    n = 0
    def handle_starttag(self, tag, attributes): self.n += 1
Counter().feed(open(sys.argv[1]).read())
"""
PY_TEXT = """
import sys
lines = words = characters = 0
for line in open(sys.argv[1]):
    lines += 1; words += len(line.split()); characters += len(line)
"""
JQ = "reduce .[] as $r ({}; reduce ($r | keys_unsorted[]) as $k (.; .[$k] += 1))"
JQ_LINES = "reduce inputs as $r ({}; reduce ($r | keys_unsorted[]) as $k (.; .[$k] += 1))"
others = {
    "rows.csv": [("Python csv", ["python3", "-c", PY_CSV, "rows.csv"])],
    "records.json": [("Python json", ["python3", "-c", PY_JSON, "records.json"]),
                     ("jq", ["jq", JQ, "records.json"])],
    "lines.jsonl": [("Python json", ["python3", "-c", PY_LINES, "lines.jsonl"]),
                    ("jq", ["jq", "-n", JQ_LINES, "lines.jsonl"])],
    "page.html": [("Python html.parser", ["python3", "-c", PY_HTML, "page.html"])],
    "notes.md": [("Python, lines and words", ["python3", "-c", PY_TEXT, "notes.md"])],
    "server.log": [("Python, lines and words", ["python3", "-c", PY_TEXT, "server.log"])],
    "random.bin": [],
}
for name in ["qsv", "xsv"]:
    if shutil.which(name):
        command = [name, "stats", "--cardinality", "rows.csv"]
        others["rows.csv"].append((f"{name} stats", command))

subprocess.run([yfs, "--quiet", "init"], check=True)
print(f"Statistics of {mb} MB, MB/s of CPU (and MB of memory)")
for name, rivals in others.items():
    with open(name, "rb") as source:
        subprocess.run([yfs, "--quiet", "write", "/" + name], stdin=source, check=True)
    ms, memory = run([yfs, "--json", "describe", "/" + name])
    kept, _ = run([yfs, "--json", "describe", "/" + name])
    row_text = f"{name}: yfs {mb / ms * 1000:.0f} ({memory:.0f}), kept {kept:.0f} ms"
    for label, command in rivals:
        ms, memory = run(command)
        row_text += f"; {label} {mb / ms * 1000:.0f} ({memory:.0f})"
    print(row_text, flush=True)
    subprocess.run([yfs, "--quiet", "rm", "/" + name], check=True)
    os.remove(name)

if large:
    fill("large.csv", large << 20, "id,place,level,day,word\n", row)
    with open("large.csv", "rb") as source:
        subprocess.run([yfs, "--quiet", "write", "/large.csv"], stdin=source, check=True)
    os.remove("large.csv")
    ms, memory = run([yfs, "--json", "describe", "/large.csv"])
    print(f"A table of {large} MB: {large / ms * 1000:.0f} MB/s, {memory:.0f} MB of memory")
    subprocess.run([yfs, "--quiet", "rm", "/large.csv"], check=True)

n = 20
start, _ = run([yfs, "--version"], n=n)
put = got = copied = 0
for at in range(n):
    with open("result.json", "w") as file:
        json.dump([{"id": at * 10000 + k, "place": places[k % 200]} for k in range(26000)], file)
    ms, _ = run([yfs, "artifact", "put", "result.json", "--call", str(at)])
    put += ms / n
    ms, _ = run([yfs, "artifact", "get", f"shared/tool_call_{at}.json"])
    got += ms / n
    ms, _ = run(["cp", "result.json", f"copy-{at}.json"])
    copied += ms / n
size = os.path.getsize("result.json") / (1 << 20)
print(f"A result of {size:.2f} MB, ms of CPU of a process: store {put:.1f}, resolve {got:.1f}, "
      f"cp {copied:.1f}; `yfs --version` {start:.1f}")

os.makedirs("tree")
for at in range(n_files):
    folder = f"tree/{at // 100:03}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{at:05}.md", "w") as file:
        file.write(f"# Day {at}\n\n" + " ".join(random.choice(words) for _ in range(160)) + "\n")
subprocess.run([yfs, "--quiet", "import", "tree", "/tree"], check=True)
for tokens in [8000, 2000000]:
    command = [yfs, "artifact", "context", "/tree", "--max-tokens", str(tokens)]
    first, _ = run(command)
    again, memory = run(command, n=3)
    print(f"A context of {n_files} files and {tokens} tokens, ms of CPU: first {first:.0f}, "
          f"from kept statistics {again:.0f} ({memory:.0f} MB)", flush=True)
PYTHON
