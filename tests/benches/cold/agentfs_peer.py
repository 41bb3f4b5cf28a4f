"""Opens a filesystem of AgentFS, and reads or creates files: fill DATABASE DIRECTORY, or
cat, stat, ls DATABASE PATH."""

import asyncio
import os
import sys

from agentfs_sdk import AgentFS, AgentFSOptions


async def fill(fs, directory):
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, encoding="utf-8") as file:
                await fs.write_file("/" + os.path.relpath(path, directory), file.read())


async def main():
    command, database, operand = sys.argv[1:]
    agent = await AgentFS.open(AgentFSOptions(path=database))
    if command == "fill":
        await fill(agent.fs, operand)
    elif command == "cat":
        print(await agent.fs.read_file(operand), end="")
    elif command == "stat":
        print((await agent.fs.stat(operand)).size)
    elif command == "ls":
        print("\n".join(await agent.fs.readdir(operand)))
    await agent.close()


asyncio.run(main())
