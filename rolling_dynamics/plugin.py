"""
Plug-ins: one object per system with its parts for all commands and nodes.

The plug-ins of the suite are the modules of ``rolling_robotics.plugins``. Another package adds a
system by an entry point of the group ``rolling_robotics.systems``, see docs/extending.md. Entry
points are scanned only for names that the suite does not have, and to list all systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
import logging
from pkgutil import iter_modules
from typing import Any, TYPE_CHECKING

from rolling_dynamics.errors import ParameterError, PLUGIN_OF, printable, quoted, suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PROTOCOL = 2  # of plug-ins; it changes when the meaning of a field changes
CHANGES = "docs/extending.md, 'From protocol 1 to 2', has what changed"
GROUP = 'rolling_robotics.systems'
SHIPPED = 'rolling_robotics.plugins'
SUITE = ('rolling_dynamics', 'rolling_planner', 'rolling_controller', 'rolling_robotics')
LOG = logging.getLogger(__name__)
# Exceptions that a foreign package may raise: some exit, like a script.
BROKEN = (Exception, SystemExit)
# Required attributes of the objects in some roles; objects in other roles are called.
OFFERS = {
    'scenario': ('build', 'model_validate'),
    'law': ('group', 'options', 'laws', 'make'),
    'planner': ('section', 'problem', 'plan'),
    'report': ('entries', 'lines'),
    'experiments': ('__iter__',),
}

_KNOWN: dict[str, SystemPlugin] = {}
_REFUSED: set[EntryPoint] = set()


@dataclass(frozen=True, kw_only=True)
class SystemPlugin:
    """
    Parts of a system in addition to its equations.

    Each role is a reference ``'module:attribute'``, imported when it is first needed, or the
    object itself. It is None if the system does not have the role.

    Attributes
    ----------
    name
        The system's ``name``, and the value of ``system`` in its scenario files.
    protocol
        Version of this class that the plug-in is written for: 2.
    scenario
        :class:`rolling_dynamics.scenario.ScenarioFile`: entries of its scenario files.
    robot_view
        ``(system, p) -> RobotView``: view for the simulator node; the frames of its bodies if
        None.
    law
        :class:`rolling_controller.robot_laws.regulator.RobotKind`: the laws of the robot
        controller.
    controller
        ``(parameters) -> class``, a :class:`rolling_controller.nodes.control_loop.Controlled` that
        the controller node runs, and whose laws a replay makes again; the class for robots if
        None.
    simulator
        ``(parameters) -> class``, a :class:`rolling_dynamics.nodes.simulated.Simulated` that the
        simulator node runs; the class for robots if None.
    step_laws
        ``(scenario) -> dict`` of functions by name, which return a
        :class:`rolling_controller.export.c.CSource` for `rolling export`.
    planner
        :class:`rolling_planner.planners.planner.SystemPlanner`, for both `rolling plan` and the
        planner node; collocation if None.
    arrays
        ``(system, trajectory) -> dict`` of :class:`rolling_robotics.arrays.Series`: the
        arrays of a result file; the entries of the state if None.
    report
        Module with ``entries(scenario, trajectory, result) -> dict`` for a result, and
        ``lines(result)`` for its summary.
    scene
        ``(scenario, arrays) -> Scene`` to animate and view; if None, the bodies of its ``pose``,
        in the shapes of its robot view.
    experiments
        Tuple of :class:`rolling_robotics.experiments.Experiment`: nodes that are started together,
        and the demonstration with them.
    example
        Name or path of an example scenario.

    """

    name: str
    protocol: int
    scenario: Any = None
    robot_view: Any = None
    law: Any = None
    controller: Any = None
    simulator: Any = None
    step_laws: Any = None
    planner: Any = None
    arrays: Any = None
    report: Any = None
    scene: Any = None
    experiments: Any = None
    example: str | None = None

    def load(self, role: str) -> Any:  # noqa: ANN401  as the role has it
        """Return the object of a role, or None; raise ParameterError if it is invalid."""
        found = given = getattr(self, role)
        where = f'plug-in of the system {self.name!r}: {role} {given!r}'
        if isinstance(given, str):
            module, _, attribute = given.partition(':')
            package = module.partition('.')[0]
            if package not in SUITE:
                PLUGIN_OF[package] = self.name
            try:
                found = import_module(module)
                found = getattr(found, attribute) if attribute else found
            except BROKEN as e:
                reason = printable(f'{type(e).__name__}: {e}')
                raise ParameterError(f'{where} cannot be imported: {reason}') from e
        needed = OFFERS.get(role, ('__call__',))
        lacking = [name for name in needed if not hasattr(found, name)]
        if given is not None and lacking:
            raise ParameterError(f'{where} has no {", ".join(lacking)}')
        return found


def plugin_of(name: str) -> SystemPlugin:
    """Return the plug-in of a system; if there is none, raise ParameterError that lists all."""
    plugin = _KNOWN.get(name) or _shipped(name) or _installed(name)
    if plugin is None:
        raise ParameterError(f'system {quoted(name)} is not installed{others(name)}')
    return plugin


def plugins() -> dict[str, SystemPlugin]:
    """Return all plug-ins by the name of their system, the suite's own first."""
    installed = {entry.name for entry in _entries()}
    names = dict.fromkeys((*_shipped_names(), *sorted(installed), *_KNOWN))
    found = ((n, _KNOWN.get(n) or _shipped(n) or _installed(n)) for n in names)
    return {name: plugin for name, plugin in found if plugin is not None}


def role_of(system: str, role: str) -> Any:  # noqa: ANN401  as the role has it
    """Return the object of a role of a system; None without one, or without a plug-in."""
    try:
        plugin = plugin_of(system)
    except ParameterError:
        return None
    return plugin.load(role)


def roles(role: str) -> Iterator[tuple[str, Any]]:
    """Yield systems and their objects of a role; a failed import is a line in the log."""
    for name, plugin in plugins().items():
        try:
            found = plugin.load(role)
        except ParameterError as e:
            LOG.warning('%s; it is left out', printable(e))
            continue
        if found is not None:
            yield name, found


def others(name: str, role: str = 'name') -> str:
    """Return the end of an error: the systems that have a role, and how to add another one."""
    known = [name for name, plugin in plugins().items() if getattr(plugin, role) is not None]
    return f'{suggestion(name, known)}; a package with a plug-in ({GROUP}) adds another'


def register_plugin(plugin: SystemPlugin) -> None:
    """Add a plug-in for this process, such as in a notebook or a test, without installing it."""
    _check(plugin, plugin.name)
    _KNOWN[plugin.name] = plugin


def _entries() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  takes 20 ms, rarely needed

    return entry_points(group=GROUP)


@lru_cache(maxsize=1)
def _shipped_names() -> tuple[str, ...]:
    return tuple(sorted(m.name for m in iter_modules(import_module(SHIPPED).__path__)))


def _shipped(name: str) -> SystemPlugin | None:
    if name not in _shipped_names():
        return None
    plugin: SystemPlugin = import_module(f'{SHIPPED}.{name}').PLUGIN
    return _KNOWN.setdefault(name, plugin)


def _installed(name: str) -> SystemPlugin | None:
    """Return the first valid plug-in among the entry points of a name."""
    for entry in _entries():
        if entry.name != name or entry in _REFUSED:
            continue
        try:
            plugin = entry.load()
            _check(plugin, name)
        except BROKEN as e:
            _REFUSED.add(entry)
            text = printable(f'{type(e).__name__}: {e}')
            if isinstance(e, (ImportError, TypeError)):  # of a module or a role that was removed
                text = f'{text}; if it is of an earlier version: {CHANGES}'
            LOG.warning('plug-in %s (%s) is left out: %s', entry.name, entry.value, text)
        else:
            return _KNOWN.setdefault(name, plugin)
    return None


def _check(plugin: object, name: str) -> None:
    if not isinstance(plugin, SystemPlugin):
        raise ParameterError(f'a SystemPlugin is expected, got {type(plugin).__name__}')
    if plugin.protocol != PROTOCOL:
        raise ParameterError(
            f'{name!r} is written for protocol {plugin.protocol} of plug-ins, here it is '
            f'{PROTOCOL}; {CHANGES}'
        )
    if plugin.name != name:
        raise ParameterError(f'it is of the system {plugin.name!r}')
