"""Sandboxes: where a solution runs."""

from aide.sandboxes.choose import make_sandbox, probe

__all__ = ["make_sandbox", "probe"]
