"""Whatever goes wrong while a file of somebody is read is one error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os

from rolling_dynamics.errors import ParameterError, printable, RollingError, ScenarioError

LONGEST_REASON = 200  # characters


@contextmanager
def damage_reported(what: str) -> Iterator[None]:
    """
    Turn any exception into a ParameterError that says the file is damaged.

    For code that works on what stands in a file after the file was checked: no check sees every
    combination of values, and libraries raise what they like. ``ROLLING_TRACEBACK=1`` lets the
    exception through.

    Parameters
    ----------
    what
        What is read, as the error names it.

    """
    try:
        yield
    except ScenarioError as error:  # a line for each of its faults
        raise ParameterError(f'{what}: its scenario: {printable(error)}') from None
    except RollingError:
        raise
    except MemoryError:
        raise ParameterError(f'{what}: does not fit into memory') from None
    except Exception as error:
        if os.environ.get('ROLLING_TRACEBACK'):
            raise
        reason = f'{type(error).__name__} {printable(error, LONGEST_REASON)}'.rstrip()
        raise ParameterError(f'{what}: is damaged: {reason}; write it again') from error
