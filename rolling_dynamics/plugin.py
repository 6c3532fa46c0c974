"""
Plug-ins: one object for each system gives every command and node what the system brings.

The plug-ins of the suite are the modules of ``rolling_robotics.plugins``. A package of its own
adds a system by an entry point of the group ``rolling_robotics.systems``, see docs/extending.md.
Entry points are scanned only for a name that the suite does not have, and to list all systems.
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

PROTOCOL = 2  # of plug-ins; another one means that fields have another meaning
CHANGES = "docs/extending.md, 'From protocol 1 to 2', has what changed"
GROUP = 'rolling_robotics.systems'
SHIPPED = 'rolling_robotics.plugins'
SUITE = ('rolling_dynamics', 'rolling_planner', 'rolling_controller', 'rolling_robotics')
LOG = logging.getLogger(__name__)
# What a package of someone else may raise: some end the process, as a script does.
BROKEN = (Exception, SystemExit)
# Attributes that what fills a role must have; a role that is not named here is called.
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
    Parts of a system beside its equations.

    Each role is a reference ``'module:attribute'``, imported when it is first needed, or the
    object itself. A role that is None is one that the system does not have.

    Attributes
    ----------
    name
        The system's ``name``, and the value of ``system`` in its scenario files.
    protocol
        Version of this class that the plug-in is written for: 2.
    scenario
        :class:`rolling_dynamics.scenario.ScenarioFile`: what its scenario files may hold.
    robot_view
        ``(system, p) -> RobotView``: what a simulator node shows of it; None stands for the
        frames of its bodies.
    law
        :class:`rolling_controller.robot_laws.regulator.RobotKind`: the laws of the robot
        controller.
    controller
        ``(parameters) -> class``, a :class:`rolling_controller.nodes.control_loop.Controlled` that
        the controller node runs; None stands for a robot.
    simulator
        ``(parameters) -> class``, a :class:`rolling_dynamics.nodes.simulated.Simulated` that the
        simulator node runs; None stands for a robot.
    step_laws
        ``(scenario) -> dict`` by name of functions that return a
        :class:`rolling_controller.export.c.CSource`: what `rolling export` writes.
    planner
        :class:`rolling_planner.planners.planner.SystemPlanner`, for `rolling plan` and the
        planner node alike; None stands for collocation.
    arrays
        ``(system, trajectory) -> dict`` of :class:`rolling_robotics.arrays.Series`: the
        arrays of a result file; None stands for the entries of the state.
    report
        Module with ``entries(scenario, trajectory, result) -> dict``, which go into a result, and
        ``lines(result)`` of its summary.
    scene
        ``(scenario, arrays) -> Scene`` that is animated and viewed; None stands for the bodies of
        its ``pose``, in the shapes of its robot view.
    replay
        ``(recorded, say) -> list`` of :class:`rolling_robotics.nodes.replay.runs.Replayed`:
        what of a recording is computed again beside executions of plans; empty of another
        system's.
    experiments
        Tuple of :class:`rolling_robotics.experiments.Experiment`: nodes that are started together,
        and the demonstration with them.
    example
        Name or path of a scenario that shows it.

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
    replay: Any = None
    experiments: Any = None
    example: str | None = None

    def load(self, role: str) -> Any:  # noqa: ANN401  as the role has it
        """Return what fills a role, or None; raise ParameterError if it is of no use."""
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
    """Return the plug-in of a system; raise ParameterError, with those that are there, if none."""
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
    """Return what fills a role of a system, None if nothing does or it has no plug-in."""
    try:
        plugin = plugin_of(system)
    except ParameterError:
        return None
    return plugin.load(role)


def roles(role: str) -> Iterator[tuple[str, Any]]:
    """Yield systems and what fills a role; one that cannot be imported is a line in the log."""
    for name, plugin in plugins().items():
        try:
            found = plugin.load(role)
        except ParameterError as e:
            LOG.warning('%s; it is left out', printable(e))
            continue
        if found is not None:
            yield name, found


def others(name: str, role: str = 'name') -> str:
    """Return the end of an error: the systems that have a role, and how another one comes."""
    known = [name for name, plugin in plugins().items() if getattr(plugin, role) is not None]
    return f'{suggestion(name, known)}; a package with a plug-in ({GROUP}) adds another'


def register_plugin(plugin: SystemPlugin) -> None:
    """Add a plug-in for this process: of a notebook or a test, where nothing is installed."""
    _KNOWN[plugin.name] = plugin


def _entries() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  20 ms that few need

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
    """Return the first good plug-in among the entry points of a name."""
    for entry in _entries():
        if entry.name != name or entry in _REFUSED:
            continue
        try:
            plugin = entry.load()
            _check(plugin, name)
        except BROKEN as e:
            _REFUSED.add(entry)
            text = printable(f'{type(e).__name__}: {e}')
            if isinstance(e, (ImportError, TypeError)):  # of a module or a role that went
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
            f'it is written for protocol {plugin.protocol} of plug-ins, here it is {PROTOCOL}; '
            f'{CHANGES}'
        )
    if plugin.name != name:
        raise ParameterError(f'it is of the system {plugin.name!r}')
