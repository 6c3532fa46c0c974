"""The command in this process, and in one of its own."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from rolling_robotics.cli import main

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / 'config' / 'scenarios'


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def rolling(capsys):
    """Run the command; whatever it says, it shows no traceback."""

    def run(*arguments):
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as e:
            status = e.code
        said = capsys.readouterr()
        assert 'Traceback' not in said.out + said.err
        return Ended(status or 0, said.out, said.err)

    return run


@pytest.fixture(scope='session')
def scenarios():
    """Return the folder of the examples."""
    return SCENARIOS
