"""Drives a server of yfs with the official Python client: every tool, resources, prompts.

Usage: mcp_client.py CALLS TARGET PROFILE MODE, where TARGET is a URL or a JSON array, the command
to start, and MODE is `legacy` for the lifecycle with `initialize`, else `auto`.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


def joined(result):
    return "\n".join(getattr(block, "text", "") for block in result.content)


async def call(client, tool, arguments, expected):
    result = await client.call_tool(tool, arguments)
    text = joined(result)
    fails = isinstance(expected, str) and expected.startswith("!")
    assert result.is_error == fails, f"{tool} {arguments}: {text}"
    wanted = expected[1:] if fails else expected
    assert wanted is None or wanted in text, f"{tool} {arguments}: {text}"
    return result


async def drive(client, calls):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    called = set()
    for tool, arguments, expected in calls:
        result = await call(client, tool, arguments, expected)
        called.add(tool)
        has_schema = tools[tool].output_schema is not None
        assert result.is_error or not has_schema or result.structured_content is not None, tool
    assert called == set(tools), f"not called: {set(tools) - called}"
    assert all(tool.annotations.read_only_hint is not None for tool in tools.values())
    print(client.protocol_version, len(tools), "tools", len(calls), "calls")


def target(text):
    if not text.startswith("["):
        return text
    command = json.loads(text)
    return StdioServerParameters(command=command[0], args=command[1:])


async def drive_resources(client):
    """Reads a file as a resource, and completes its path."""
    listed = (await client.list_resources()).resources
    assert listed, "no resources"
    read = await client.read_resource(listed[0].uri)
    assert read.contents[0].uri == listed[0].uri
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["file:///{+path}"]
    try:
        await client.read_resource("file:///absent")
        raise AssertionError("a missing file was read")
    except MCPError:
        pass
    prompts = (await client.list_prompts()).prompts
    filled = await client.get_prompt(prompts[0].name, {"path": "/d"})
    assert "/d" in filled.messages[0].content.text


async def main():
    path, text, profile, mode = sys.argv[1:]
    calls = json.load(open(path))[profile]
    async with Client(target(text), mode=mode) as client:
        await drive(client, calls)
        await drive_resources(client)
        unknown = await client.call_tool("fly", {})
        assert unknown.is_error and "fly" in unknown.content[0].text, unknown


asyncio.run(main())
