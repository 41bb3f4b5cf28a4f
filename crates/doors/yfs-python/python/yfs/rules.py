"""Permission rules, as `Workspace.files(rules=...)` takes them."""

from typing import Literal, TypedDict


class _RuleMode(TypedDict, total=False):
    mode: Literal["allow", "deny", "interrupt"]


class PermissionRule(_RuleMode):
    """A permission rule. Without a mode it allows."""

    operations: list[Literal["read", "write"]]
    paths: list[str]
