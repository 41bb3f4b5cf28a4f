"""Twenty agents edit one file at once, on yfs and on three other filesystems for agents.

Each agent is a client of its own that replaces its own line of one file by one call, all of them at
the same moment. Counted are the edits that are in the file afterwards, and the calls that reported
success. In the races of yfs with "typing", a person types in the file meanwhile, with a y-websocket
client; the text must be whole afterwards. Also measured: the round trip of one call over stdio, and
searches in 10,000 files.

Usage:

    python3 -m venv venv && venv/bin/pip install mcp==2.3.0 agentfs-sdk==0.6.4 deepagents==0.7.32
    npm ci --prefix tests/node
    venv/bin/python tests/benches/agents_race.py --yfs target/release/yfs [--runs 100] [--figures]

The race of threads needs the Python package `yfs`, and is left out without it.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

from mcp import Client, StdioServerParameters

AGENTS = 20
ROOT = pathlib.Path(__file__).parent.parent
TYPED = "What a person types while the agents edit. "
REFERENCE = ROOT / "node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"


def content():
    return "".join(f"line {n}: open\n" for n in range(AGENTS))


def kept(text):
    return sum(f"line {n}: done\n" in text for n in range(AGENTS))


class Connection:
    """One client of a server that it starts itself."""

    def __init__(self, command):
        self.client = Client(StdioServerParameters(command=command[0], args=command[1:]))

    async def __aenter__(self):
        await self.client.__aenter__()
        return self.client

    async def __aexit__(self, *error):
        await self.client.__aexit__(*error)


async def serve_until(connection, ready, stop):
    """Holds a connection in a task of its own, as its cancel scopes require."""
    async with connection as client:
        ready.set_result(client)
        await stop.wait()


async def connections(commands):
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    readies = [loop.create_future() for _ in commands]
    tasks = [
        asyncio.create_task(serve_until(Connection(command), ready, stop))
        for command, ready in zip(commands, readies)
    ]
    clients = await asyncio.gather(*readies)
    return clients, tasks, stop


async def race_servers(commands, tool, arguments):
    """Returns how many calls reported success."""
    clients, tasks, stop = await connections(commands)
    calls = [client.call_tool(tool, arguments(n)) for n, client in enumerate(clients)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    stop.set()
    await asyncio.gather(*tasks)
    return sum(not isinstance(r, BaseException) and not r.is_error for r in results)


def workspace(yfs, directory):
    subprocess.run([yfs, "init", "--quiet"], cwd=directory, check=True, stdout=subprocess.DEVNULL)


async def race_yfs(yfs, directory):
    workspace(yfs, directory)
    place = ["--workspace", str(directory)]
    write = [yfs, "write", "/race.txt", *place]
    subprocess.run(write, input=content().encode(), check=True, stdout=subprocess.DEVNULL)
    commands = [
        [yfs, "mcp", "--quiet", "--profile", "fs", "--actor", f"agent:racer-{n}", *place]
        for n in range(AGENTS)
    ]

    def arguments(n):
        return {
            "path": "/race.txt",
            "old_text": f"line {n}: open\n",
            "new_text": f"line {n}: done\n",
        }

    reported = await race_servers(commands, "fs_edit", arguments)
    text = subprocess.run([yfs, "cat", "/race.txt", *place], capture_output=True, text=True)
    return kept(text.stdout), reported


async def race_yfs_directory(yfs, directory):
    """As clients of the reference server use it: each starts a process over the directory."""
    path = directory / "race.txt"
    path.write_text(content())
    commands = [[yfs, "mcp", "--quiet", str(directory)] for _ in range(AGENTS)]

    def arguments(n):
        edit = {"oldText": f"line {n}: open\n", "newText": f"line {n}: done\n"}
        return {"path": str(path), "edits": [edit]}

    reported = await race_servers(commands, "edit_file", arguments)
    return kept(path.read_text()), reported


async def race_reference(_, directory):
    path = directory / "race.txt"
    path.write_text(content())
    commands = [["node", str(REFERENCE), str(directory)] for _ in range(AGENTS)]

    def arguments(n):
        edit = {"oldText": f"line {n}: open\n", "newText": f"line {n}: done\n"}
        return {"path": str(path), "edits": [edit]}

    reported = await race_servers(commands, "edit_file", arguments)
    return kept(path.read_text()), reported


async def race_agentfs(_, directory):
    """Read, replace, write back: the SDK has no edit. One process, as it locks its file."""
    from agentfs_sdk import AgentFS, AgentFSOptions

    agent = await AgentFS.open(AgentFSOptions(path=str(directory / "race.db")))
    await agent.fs.write_file("/race.txt", content())

    async def edit(n):
        text = await agent.fs.read_file("/race.txt")
        await agent.fs.write_file("/race.txt", text.replace(f"line {n}: open", f"line {n}: done"))

    results = await asyncio.gather(*map(edit, range(AGENTS)), return_exceptions=True)
    text = await agent.fs.read_file("/race.txt")
    await agent.close()
    return kept(text), sum(result is None for result in results)


async def race_deepagents(_, directory):
    """One backend, its own edits, each on a thread."""
    from deepagents.backends import FilesystemBackend

    (directory / "race.txt").write_text(content())
    backend = FilesystemBackend(root_dir=str(directory), virtual_mode=True)

    async def edit(n):
        old, new = f"line {n}: open\n", f"line {n}: done\n"
        return await backend.aedit("/race.txt", old, new)

    results = await asyncio.gather(*map(edit, range(AGENTS)), return_exceptions=True)
    reported = sum(not isinstance(r, BaseException) and not r.error for r in results)
    return kept((directory / "race.txt").read_text()), reported


@contextlib.asynccontextmanager
async def typing(yfs, directory):
    """A server of a workspace with the file, in which a person types. Yields its URL."""
    workspace(yfs, directory)
    place = ["--workspace", str(directory)]
    write = [yfs, "write", "/race.txt", *place]
    subprocess.run(write, input=content().encode(), check=True, stdout=subprocess.DEVNULL)
    stat = [yfs, "stat", "--json", "/race.txt", *place]
    room = json.loads(subprocess.run(stat, capture_output=True, check=True).stdout)["id"]
    serve = [yfs, "serve", "--open", "--no-mirror", "--json", "--port", "0", str(directory)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client = None
    try:
        url = json.loads(server.stdout.readline())["url"]
        command = ["node", str(ROOT / "node/slice-client.mjs"), f"ws{url[4:]}sync", room]
        pipe = subprocess.PIPE
        client = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)

        async def ask(command):
            client.stdin.write(json.dumps(command).encode() + b"\n")
            answer = json.loads(await client.stdout.readline())
            assert "ok" in answer, answer

        await ask({"do": "wait", "for": "synced", "within_ms": 60_000})
        await ask({"do": "type", "text": TYPED, "every_ms": 20, "at": 0})
        yield url
        await ask({"do": "wait", "for": "typed", "within_ms": 60_000})
        # What was typed last has reached the server once a text that follows has.
        done = [f"line {n}: " for n in range(AGENTS)]
        await ask({"do": "wait", "text": done, "within_ms": 60_000})
        deadline = time.monotonic() + 60
        while TYPED not in text_of(yfs, directory) and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
    finally:
        if client is not None:
            client.kill()
            await client.wait()
        server.kill()
        server.wait()


def text_of(yfs, directory):
    cat = [yfs, "cat", "/race.txt", "--workspace", str(directory)]
    return subprocess.run(cat, capture_output=True, text=True, check=True).stdout


def counted(text, reported):
    assert TYPED in text, f"the typed text is not whole: {text}"
    return kept(text), reported


def edit_of(n):
    return {"path": "/race.txt", "old_text": f"line {n}: open\n", "new_text": f"line {n}: done\n"}


async def race_yfs_typing(yfs, directory):
    """Twenty processes of the MCP server, over the workspace that a person types in."""
    async with typing(yfs, directory):
        commands = [
            [yfs, "mcp", "--quiet", "--profile", "fs", "--actor", f"agent:racer-{n}"]
            + ["--workspace", str(directory)]
            for n in range(AGENTS)
        ]
        reported = await race_servers(commands, "fs_edit", edit_of)
    return counted(text_of(yfs, directory), reported)


async def race_yfs_http(yfs, directory):
    """Twenty clients of one server."""
    async with typing(yfs, directory) as url:

        async def edit(n):
            async with Client(f"{url}mcp?profile=fs") as client:
                return await client.call_tool("fs_edit", edit_of(n))

        results = await asyncio.gather(*map(edit, range(AGENTS)), return_exceptions=True)
    reported = sum(not isinstance(r, BaseException) and not r.is_error for r in results)
    return counted(text_of(yfs, directory), reported)


async def race_yfs_commands(yfs, directory):
    """Twenty processes of `yfs edit`."""
    async with typing(yfs, directory):

        async def edit(n):
            words = ["--old", f"line {n}: open", "--new", f"line {n}: done"]
            command = [yfs, "edit", "/race.txt", *words, "--workspace", str(directory)]
            null = subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(*command, stdout=null)
            return await process.wait()

        results = await asyncio.gather(*map(edit, range(AGENTS)))
    return counted(text_of(yfs, directory), results.count(0))


async def race_yfs_threads(yfs, directory):
    """Twenty threads of one process, each with its own files of the Python package."""
    import yfs as package

    async with typing(yfs, directory):
        reported, start = [], threading.Barrier(AGENTS)
        opened = package.open(directory / ".yfs" / "workspace.db")

        def edit(n):
            files = opened.files(actor=f"agent:racer-{n}")
            start.wait()
            files.edit("/race.txt", f"line {n}: open\n", f"line {n}: done\n")
            reported.append(n)

        threads = [threading.Thread(target=edit, args=(n,)) for n in range(AGENTS)]
        for thread in threads:
            thread.start()
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
        opened.close()
    return counted(text_of(yfs, directory), len(reported))


RACES = {
    "yfs mcp --workspace": race_yfs,
    "yfs mcp --workspace, typing": race_yfs_typing,
    "yfs serve, /mcp, typing": race_yfs_http,
    "yfs edit, typing": race_yfs_commands,
    "yfs in Python, threads, typing": race_yfs_threads,
    "yfs mcp DIR": race_yfs_directory,
    "@modelcontextprotocol/server-filesystem": race_reference,
    "agentfs-sdk": race_agentfs,
    "deepagents FilesystemBackend": race_deepagents,
}


async def race(name, yfs, runs):
    if RACES[name] is race_yfs_threads and importlib.util.find_spec("yfs") is None:
        return
    rows = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as directory:
            rows.append(await RACES[name](yfs, pathlib.Path(directory)))
    edits, reports = zip(*rows)
    median = statistics.median(edits)
    print(
        f"| {name} | {runs} | {min(edits)} | {median:g} | {max(edits)} | {min(reports)} to"
        f" {max(reports)} |",
        flush=True,
    )


def percentile(values, share):
    return sorted(values)[int(len(values) * share)]


async def timed(client, tool, arguments, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        result = await client.call_tool(tool, arguments)
        times.append(1000 * (time.perf_counter() - start))
        assert not result.is_error, result.content
    return times


async def raw_round_trip(command, tool, arguments, n):
    """The round trip without a client library: one line out, one line in."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def exchange(message):
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    info = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    process.stdin.write(json.dumps(note).encode() + b"\n")
    times = []
    for id in range(1, n + 1):
        call = {"name": tool, "arguments": arguments}
        start = time.perf_counter()
        reply = exchange({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
        times.append(1000 * (time.perf_counter() - start))
        assert not reply["result"].get("isError"), reply
    process.stdin.close()
    process.wait()
    return times


async def figures(yfs):
    with tempfile.TemporaryDirectory() as tree, tempfile.TemporaryDirectory() as place:
        tree, place = pathlib.Path(tree), pathlib.Path(place)
        for n in range(10_000):
            folder = tree / f"d{n // 100}"
            folder.mkdir(exist_ok=True)
            marker = "needle" if n % 1000 == 0 else "hay"
            (folder / f"f{n}.txt").write_text(f"{marker} {n}\n" * 20)
        workspace(yfs, place)
        subprocess.run(
            [yfs, "import", str(tree), "/t", "--quiet", "--workspace", str(place)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        small = {"path": "/t/d0/f1.txt"}
        ours = [yfs, "mcp", "--quiet", "--workspace", str(place), "--profile"]
        theirs = ["node", str(REFERENCE), str(tree)]
        for name, command, arguments in [
            ("yfs", [*ours, "reference"], small),
            ("reference", theirs, {"path": str(tree / "d0/f1.txt")}),
        ]:
            times = await raw_round_trip(command, "read_text_file", arguments, 500)
            p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
            print(f"read_text_file over stdio, {name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
        search = {"pattern": "**/f99*.txt"}
        medians = []
        for name, command, arguments in [
            ("yfs", [*ours, "reference"], {"path": "/t", **search}),
            ("reference", theirs, {"path": str(tree), **search}),
        ]:
            times = await raw_round_trip(command, "search_files", arguments, 20)
            medians.append(percentile(times, 0.5))
            print(f"search_files in 10,000 files, {name}: p50 {medians[-1]:.1f} ms")
        print(f"ratio: {medians[1] / medians[0]:.1f}")
        for tool, arguments in [
            ("glob", {"pattern": "**/f99*.txt"}),
            ("grep", {"pattern": "needle"}),
        ]:
            times = await raw_round_trip([*ours, "deepagents"], tool, arguments, 20)
            print(f"{tool} in 10,000 files, yfs: p50 {percentile(times, 0.5):.1f} ms")


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--yfs", default="yfs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=list(RACES))
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    yfs = str(pathlib.Path(options.yfs).resolve()) if "/" in options.yfs else options.yfs
    if options.figures:
        await figures(yfs)
        return
    print("| Filesystem | Runs | Fewest kept | Median | Most kept | Reported as done |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in [options.only] if options.only else RACES:
        await race(name, yfs, options.runs)


asyncio.run(main())
