"""Nodes whose loop evaluates compiled functions."""

from __future__ import annotations

from rolling_dynamics import compiled
from rolling_node_kit.suite_node import SuiteNode


class CompilingNode(SuiteNode):
    """A lifecycle node that becomes active once what its loop evaluates is machine code."""

    @property
    def preparing(self) -> str:
        """What is being compiled, in words; empty if everything is there."""
        names = compiled.pending(awaited=True)
        return f'compiling {", ".join(names)}' if names else ''

    def renew(self) -> None:
        """Evaluate machine code from now on."""
        compiled.renew()
