"""
Print the JSON Schema of scenario files, for completion in an editor.

Print the JSON Schema of the scenario files of all systems that are installed. An editor completes
names, shows sentences and units, and marks what does not fit. For the YAML language server (VS
Code, Neovim, Emacs and others) begin a file with
  # yaml-language-server: $schema=scenario.schema.json
A number may be a formula; `rolling check` says whether a formula is valid.

example:
  rolling schema > scenario.schema.json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def add_arguments(_: ArgumentParser) -> None:
    """Declare no options."""


def run(_: Namespace) -> int:
    """Print it."""
    import json

    from rolling_robotics.scenario_schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0
