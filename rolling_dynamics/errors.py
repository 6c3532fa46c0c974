"""Exceptions of the suite, all below one base class, and whose code an exception comes from."""

from pathlib import Path
import traceback

PLUGIN_OF: dict[str, str] = {}  # plug-in by the top package that one of its roles was loaded from


class RollingError(Exception):
    """Base class of every exception that the suite raises on purpose."""


class ParameterError(RollingError, ValueError):
    """A physical parameter, a state or an option lies outside its range."""


class ExpressionError(RollingError, ValueError):
    """A formula given as text cannot be understood."""


class SurfaceError(RollingError, ValueError):
    """A chart is not a regular surface at a point, or two surfaces cannot roll there."""


class ScenarioError(RollingError, ValueError):
    """An entry of a scenario is missing, misspelt or out of range; the text names its path."""


class SimulationError(RollingError, RuntimeError):
    """An integration could not be carried to its end."""


class JammingError(SimulationError):
    """An impact under Coulomb friction does not come to an end."""


class PlanningError(RollingError, RuntimeError):
    """No plan was found; the text names what could not be met."""


class CancelledError(RollingError):
    """The caller asked for the work to stop."""


class ConformanceError(RollingError):
    """A system does not keep the contract; the text has a line for each check that failed."""


def origin(error: BaseException) -> str:
    """Return the plug-in, file and line from whose code an exception comes; empty if none."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get('__name__', '')).partition('.')[0]
        if package in PLUGIN_OF:
            code = frame.f_code
            where = f'{package}/{Path(code.co_filename).name}, line {line}, in {code.co_name}'
            return f'plug-in {PLUGIN_OF[package]!r} ({where})'
    return ''


def described(error: BaseException) -> str:
    """Return type and text of an exception that was not expected, after its origin."""
    text, where = f'{type(error).__name__}: {error}', origin(error)
    return f'{where}: {text}' if where else text
