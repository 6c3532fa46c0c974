"""The rules that keep the suite layered: see docs/architecture.md."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROS = {
    'action_msgs',
    'ament_index_python',
    'builtin_interfaces',
    'cv_bridge',
    'launch',
    'launch_ros',
    'rcl_interfaces',
    'rclpy',
    'rosidl_runtime_py',
    'tf2_ros',
}
ROS_SUFFIXES = ('_msgs', '_interfaces', '_srvs')

# Each package and the packages that it may import.
LAYERS = {
    'rolling_node_kit': {'rolling_dynamics'},
    'rolling_dynamics': {'rolling_node_kit'},
    'rolling_planner': {'rolling_node_kit', 'rolling_dynamics'},
    'rolling_controller': {'rolling_node_kit', 'rolling_dynamics', 'rolling_planner'},
    'rolling_hw_interface': {'rolling_node_kit', 'rolling_dynamics', 'rolling_planner'},
    'rolling_robotics': {
        'rolling_node_kit',
        'rolling_dynamics',
        'rolling_planner',
        'rolling_controller',
        'rolling_hw_interface',
    },
}
# The kit stands between the helpers of the mathematics, which are all that it imports of the
# suite, and the nodes of every package.
KIT = 'rolling_node_kit'
HELPERS = {f'rolling_dynamics.{name}' for name in ('errors', 'fingerprint', 'quaternions')}
WITHOUT_ROS = f'{KIT}.signals'  # the command line ends like a node
FILES = [path for package in LAYERS for path in sorted((ROOT / package).rglob('*.py'))]
MATHEMATICS = [p for p in FILES if not {'nodes', KIT} & set(p.relative_to(ROOT).parts)]


def module_name(path):
    """Return the dotted name of the module in a file."""
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


MODULES = {module_name(path): path for path in FILES}


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding='utf-8'))


@pytest.fixture(autouse=True, scope='module')
def _forget_sources():
    """The trees are some million objects, which the collector would go through again and again."""
    yield
    parsed.cache_clear()


def is_type_checking(test):
    """Return whether a condition is `TYPE_CHECKING` or `typing.TYPE_CHECKING`."""
    return getattr(test, 'id', getattr(test, 'attr', None)) == 'TYPE_CHECKING'


def import_statements(tree, *, inside_functions):
    """Yield the import statements that run; those for type checking alone never do."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # holds no statement
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            for child in node.orelse:
                yield from import_statements(
                    ast.Module([child], []), inside_functions=inside_functions
                )
        elif inside_functions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from import_statements(node, inside_functions=inside_functions)


def imported_names(tree, importer='', *, is_package=False, inside_functions=True):
    """
    Return the dotted names that a module imports.

    `from a import b` gives both `a` and `a.b`: b may be a module or not.
    """
    names = set()
    for node in import_statements(tree, inside_functions=inside_functions):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
            continue
        base = node.module or ''
        if node.level:
            parents = importer.split('.')
            kept = len(parents) - node.level + is_package
            base = '.'.join(parents[:kept] + ([base] if base else []))
        names.add(base)
        names.update(f'{base}.{alias.name}' for alias in node.names)
    return names


@cache
def imports_of(path, *, inside_functions=True):
    return imported_names(
        parsed(path),
        module_name(path),
        is_package=path.name == '__init__.py',
        inside_functions=inside_functions,
    )


def top_levels(names):
    return {name.partition('.')[0] for name in names}


def ros_packages(names):
    return sorted(p for p in top_levels(names) if p in ROS or p.endswith(ROS_SUFFIXES))


def nodes_modules(names):
    """Return the names that lie below a `nodes` folder or in the kit."""
    return sorted(
        n
        for n in names
        if n.startswith('rolling_') and {'nodes', KIT} & set(n.split('.'))
        if not n.startswith(WITHOUT_ROS)
    )


def import_graph():
    """
    Return module -> modules that have to be imported before it is complete.

    Importing a.b.c runs a and a.b first; a package being half done while its own submodules run
    is not a circle, so a module's own ancestors are left out.
    """
    graph = {}
    for name, path in MODULES.items():
        imported = imports_of(path, inside_functions=False)
        # `from package import module` needs the module, and the package's own __init__ only
        # where something else is taken from it.
        needed = set()
        for target in imported & set(MODULES):
            submodules = {n for n in imported if n.rpartition('.')[0] == target}
            if submodules and submodules <= set(MODULES):
                continue
            needed.add(target)
        graph[name] = {n for n in needed if not f'{name}.'.startswith(f'{n}.')}
    return graph


def find_circle(graph):
    """Return a list of modules that import each other in a ring, or None."""
    done = set()

    def visit(name, trail):
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return None
        for target in sorted(graph.get(name, ())):
            circle = visit(target, [*trail, name])
            if circle:
                return circle
        done.add(name)
        return None

    for name in sorted(graph):
        circle = visit(name, [])
        if circle:
            return circle
    return None


def found_in(paths, found):
    """Return what a rule finds, by the name of the module, where it finds anything."""
    return {module_name(path): hit for path in paths if (hit := found(path))}


def test_modules_outside_nodes_import_no_ros():
    paths = [*MATHEMATICS, MODULES[KIT], MODULES[WITHOUT_ROS]]
    assert found_in(paths, lambda path: ros_packages(imports_of(path))) == {}


def test_modules_outside_nodes_import_no_node():
    """Only the top package may, inside a function: its command line starts nodes where ROS is."""

    def nodes(path):
        is_top = module_name(path).startswith('rolling_robotics')
        return nodes_modules(imports_of(path, inside_functions=not is_top))

    assert found_in(MATHEMATICS, nodes) == {}


def test_imports_point_down():
    def upwards(path):
        package = module_name(path).partition('.')[0]
        suite = top_levels(imports_of(path)) & set(LAYERS)
        return suite - LAYERS[package] - {package}

    assert found_in(FILES, upwards) == {}


def test_kit_and_its_helpers_know_no_system():
    """The kit imports helpers that import nothing else of the suite."""
    paths = [*sorted((ROOT / KIT).glob('*.py')), *(MODULES[name] for name in sorted(HELPERS))]
    assert found_in(paths, lambda path: from_suite(imports_of(path)) - HELPERS) == {}


def from_suite(names):
    """Return the modules of the suite's other packages among the names."""
    modules = {n if n in MODULES else n.rpartition('.')[0] for n in names}
    return {m for m in modules if m.startswith('rolling_') and not m.startswith(KIT)}


def test_no_module_imports_itself_through_others():
    assert find_circle(import_graph()) is None


def test_no_package_imports_the_evidence():
    """Only the command that prints the numbers of the papers does."""
    found = found_in(FILES, lambda path: top_levels(imports_of(path)) & {'evidence'})
    assert set(found) == {'rolling_robotics.commands.reproduce'}


def constants(tree):
    """Return the names that a module assigns, once for each time."""
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    return [t.id for t in targets if isinstance(t, ast.Name)]


def test_no_constant_is_set_twice():
    """One that is hides the other from every function above it."""
    for path in [*FILES, *sorted((ROOT / 'evidence').rglob('*.py'))]:
        names = constants(parsed(path))
        assert len(names) == len(set(names)), path
    assert constants(ast.parse("BALL = 'contact'\nBALL = '<body>'")) == ['BALL', 'BALL']


def test_every_package_is_in_a_layer():
    found = {path.parent.name for path in ROOT.glob('rolling_*/__init__.py')}
    assert found == set(LAYERS)


def test_every_source_folder_is_a_package():
    """`find_packages` leaves out a folder without __init__.py, and what is below it."""
    missing = {path.parent for path in FILES if not (path.parent / '__init__.py').exists()}
    assert missing == set()


def test_test_folders_are_no_packages():
    assert list((ROOT / 'test').rglob('__init__.py')) == []


def test_interfaces_hold_no_python_package():
    assert list((ROOT / 'rolling_interfaces').rglob('__init__.py')) == []


# What systems are and what they offer is asked of the contract, not of their classes.

SYSTEMS = {
    'ContactSystem',
    'HybridContactSystem',
    'BallBalancer',
    'MassDrivenSystem',
    'PendulumSphere',
    'PointMassBall',
    'PointMassDisk',
    'SpinRollingSphere',
}
# Modules that belong to one system, or to one family of systems.
OWN = (
    'rolling_dynamics.contact.',
    'rolling_dynamics.hybrid_contact',
    'rolling_dynamics.internal_masses',
    'rolling_planner.seeds.mass_driven_seed',
    'rolling_planner.spin_rolling',
    'rolling_controller.mass_driven_velocity',
    'rolling_robotics.figures.paths',
    'rolling_robotics.plugins.contact.scene',
    'rolling_robotics.plugins.point_mass_ball.scene',
)


def questions(tree):
    """Return the calls that ask a system for its class, or for an attribute by its name."""
    found = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        if node.func.id == 'isinstance':
            asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            if asked & SYSTEMS:
                found.append(ast.unparse(node))
        elif node.func.id in ('getattr', 'hasattr'):
            first = node.args[0]
            name = getattr(first, 'id', getattr(first, 'attr', ''))
            if name.strip('_') == 'system':
                found.append(ast.unparse(node))
    return found


def test_no_module_asks_for_the_class_of_a_system():
    def asked(path):
        found = questions(parsed(path))
        if module_name(path).startswith(OWN):
            found = [q for q in found if not q.startswith('isinstance')]
        # a view of a system in one of its modes hands everything else on
        return [q for q in found if q != 'getattr(self._system, name)']

    assert found_in(FILES, asked) == {}


@pytest.mark.parametrize(
    'source',
    [
        'isinstance(problem.system, ContactSystem)',
        'isinstance(s, PointMassBall | PointMassDisk)',
        "getattr(system, 'envelope', {})",
        "hasattr(self.system, 'envelope')",
    ],
)
def test_question_is_found(source):
    assert questions(ast.parse(source)) == [source]


# Only its own folders and its plug-in name a system.

PLUGINS = ROOT / 'rolling_robotics' / 'plugins'
NAMES = {path.stem for path in PLUGINS.glob('[a-z]*')}


def systems_named(tree):
    """Return the names of systems that something is compared with, or that stand in a table."""
    found = []
    for node in ast.walk(tree):
        names = NAMES
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            asked = {getattr(p, 'id', getattr(p, 'attr', '')) for p in parts}
            asked |= {
                p.slice.value
                for p in parts
                if isinstance(p, ast.Subscript) and isinstance(p.slice, ast.Constant)
            }
            parts = parts if asked & {'name', 'system', 'kind'} else []
        elif isinstance(node, ast.Dict):
            parts = [k for k in node.keys if k is not None]
            names = NAMES - {'contact'}  # an entry, a frame and a topic have this name too
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            parts, names = node.elts, NAMES - {'contact'}
        else:
            continue
        found += [p.value for p in parts if isinstance(p, ast.Constant) and p.value in names]
    return found


def test_no_module_names_a_system():
    paths = [p for p in FILES if not module_name(p).startswith('rolling_robotics.plugins.')]
    assert found_in(paths, lambda path: systems_named(parsed(path))) == {}


@pytest.mark.parametrize(
    'source',
    [
        "if scenario.system.name == 'contact': pass",
        "result['system'] != 'contact'",
        "TABLE = {'pendulum_sphere': 1}",
        "SYSTEMS = ('point_mass_ball', 'point_mass_disk')",
    ],
)
def test_name_of_a_system_is_found(source):
    assert systems_named(ast.parse(source))


# A system's modules: one folder or file for each package, and its plug-in. An object on a hand is
# a family of systems with hardware of its own.

OF_SYSTEM = {
    'ball balancer': (
        'rolling_dynamics.ball_balancer',
        'rolling_planner.ball_balancer',
        'rolling_controller.ball_balancer',
        'rolling_robotics.plugins.ball_balancer',
        'rolling_robotics.plugins.labyrinth',
    ),
    'masses inside': (
        'rolling_dynamics.internal_masses',
        'rolling_dynamics.scenario.point_mass',
        'rolling_planner.seeds.mass_driven_seed',
        'rolling_controller.mass_driven_velocity',
        'rolling_controller.robot_laws.point_mass',
        'rolling_robotics.plugins.point_mass',
    ),
    'object on a hand': (
        'rolling_dynamics.contact.',
        'rolling_dynamics.hybrid_contact',
        'rolling_dynamics.scenario.contact',
        'rolling_dynamics.scenario.contact_sections',
        'rolling_planner.laboratory',
        'rolling_planner.seeds.contact_seeds',
        'rolling_planner.seeds.kinematic_seed',
        'rolling_controller.laboratory',
        'rolling_robotics.plugins.contact',
    ),
    'machine of a file': (
        'rolling_dynamics.scenario.machine',
        'rolling_robotics.plugins.machine',
    ),
    'pendulum': (
        'rolling_dynamics.pendulum_sphere',
        'rolling_dynamics.scenario.pendulum_sphere',
        'rolling_planner.gait_planner',
        'rolling_controller.gait_following',
        'rolling_controller.robot_laws.pendulum_sphere',
        'rolling_robotics.plugins.pendulum_sphere',
    ),
    'spin-rolling': (
        'rolling_dynamics.spin_rolling_sphere',
        'rolling_dynamics.scenario.spin_rolling_sphere',
        'rolling_planner.spin_rolling',
        'rolling_controller.robot_laws.spin_rolling_sphere',
        'rolling_robotics.plugins.spin_rolling_sphere',
    ),
}
# What speaks the topics of a hand, moves it, and looks at the object, and tries the whole of it.
HAND = (
    'rolling_dynamics.nodes.measurements',
    'rolling_dynamics.nodes.simulated_object',
    'rolling_planner.nodes.present_state',
    'rolling_controller.robot_laws.contact_kind',
    'rolling_controller.design',
    'rolling_controller.nodes.machines',
    'rolling_controller.nodes.controlled_laboratory',
    'rolling_hw_interface.',
    'rolling_robotics.calibration_report',
    'rolling_robotics.demo.laboratory',
    'rolling_robotics.nodes.replay.executions',
    'rolling_robotics.trials',
)


@pytest.mark.parametrize('system', OF_SYSTEM)
def test_no_module_outside_a_system_imports_it(system):
    modules = OF_SYSTEM[system]
    own = (*modules, *(HAND if system == 'object on a hand' else ()))
    others = [p for p in FILES if not f'{module_name(p)}.'.startswith(own)]
    found = found_in(
        others, lambda path: {n for n in imports_of(path) if f'{n}.'.startswith(modules)}
    )
    assert found == {}


def test_every_plugin_belongs_to_a_family():
    watched = tuple(m for modules in OF_SYSTEM.values() for m in modules)
    assert all(f'rolling_robotics.plugins.{name}'.startswith(watched) for name in NAMES)


def test_each_family_of_modules_is_there():
    """A folder that was moved would be watched no more."""
    for prefix in (*HAND, *(prefix for modules in OF_SYSTEM.values() for prefix in modules)):
        assert any(f'{name}.'.startswith(prefix) for name in MODULES), prefix


# A function fits on a screen, or says why it does not.

LONGEST = 60  # lines, without the docstring
SCRIPTS = [
    p for f in ('evidence', 'examples', 'tools', 'launch') for p in (ROOT / f).rglob('*.py')
]


def too_long(tree, lines):
    """Return the functions over the limit without a comment `# long...` above their first line."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        length = node.end_lineno - first + 1
        if ast.get_docstring(node) is not None:
            length -= node.body[0].end_lineno - node.body[0].lineno + 1
        reason = lines[first - 2].strip() if first > 1 else ''
        if length > LONGEST and not reason.startswith('# long'):
            found.append(f'{node.name}: {length} lines')
    return found


def test_a_long_function_says_why():
    def found(path):
        return too_long(parsed(path), path.read_text(encoding='utf-8').splitlines())

    assert found_in([*FILES, *SCRIPTS], found) == {}


@pytest.mark.parametrize(
    ('head', 'found'),
    [
        ('def f():', ['f: 62 lines']),
        ('# long, since it is a test\ndef f():', []),
        ('# a comment\n@g\nasync def f():', ['f: 63 lines']),
        ('# long, since it is a test\n@g\ndef f():', []),
    ],
)
def test_long_function_is_found(head, found):
    source = f'{head}\n' + '    """\n    Wait.\n    """\n' + '    x = 1\n' * 61
    assert too_long(ast.parse(source), source.splitlines()) == found


# The rules themselves, on sources that break them.


@pytest.mark.parametrize(
    ('source', 'expected'),
    [
        ('import rclpy.node', ['rclpy']),
        ('from geometry_msgs.msg import Pose', ['geometry_msgs']),
        ('def f():\n    from std_srvs import srv', ['std_srvs']),
        ('try:\n    import rclpy\nexcept ImportError:\n    pass', ['rclpy']),
        ('import casadi', []),
    ],
)
def test_ros_import_is_found(source, expected):
    assert ros_packages(imported_names(ast.parse(source))) == expected


def test_relative_import_is_resolved():
    names = imported_names(ast.parse('from ..nodes import qos'), 'rolling_a.b.c')
    assert 'rolling_a.nodes.qos' in names
    assert nodes_modules(names) == ['rolling_a.nodes', 'rolling_a.nodes.qos']


def test_import_for_type_checking_alone_does_not_count():
    source = 'if TYPE_CHECKING:\n    import rclpy\nelse:\n    import numpy'
    assert imported_names(ast.parse(source)) == {'numpy'}


def test_circle_is_found():
    assert find_circle({'a': {'b'}, 'b': {'c'}, 'c': {'b'}}) == ['b', 'c', 'b']
    assert find_circle({'a': {'b', 'c'}, 'b': {'c'}, 'c': set()}) is None


def test_one_loop_answers_states_with_commands():
    """Goals of the nodes differ by what starts and ends that loop, not by loops of their own."""
    nodes = sorted((ROOT / 'rolling_controller' / 'nodes').glob('*.py'))
    loops = [p.name for p in nodes if 'equipment.loop(' in p.read_text(encoding='utf-8')]
    assert loops == ['control_loop.py']


# Evidence measures what the suite does, so that its loops are watched too.
WATCHED = MODULES | {
    module_name(p): p for folder in ('evidence', 'tools') for p in (ROOT / folder).rglob('*.py')
}


def watched(*words):
    """Yield name and tree of each watched module whose text has one of the words."""
    for name, path in WATCHED.items():
        text = path.read_text(encoding='utf-8')
        if any(word in text for word in words):
            yield name, parsed(path)


def name_of(function):
    """Return the name of what is called, without what it is called on."""
    return getattr(function, 'attr', getattr(function, 'id', ''))


def called(node):
    """Return the names of what is called in a node."""
    return {name_of(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}


def in_scopes(node, scope):
    """Yield each node below a node, with the dotted name of what it stands in."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        inner = f'{scope}.{child.name}' if named else scope
        yield inner, child
        yield from in_scopes(child, inner)


# What keeps the memory of a law, or of an estimator, from step to step.
STEPS_A_LAW = {
    'rolling_controller.answers.Answers.command': 'loops of nodes',
    'rolling_controller.law.answered': 'every loop in lockstep, and replay from recorded inputs',
    'rolling_controller.law.Around.step': 'a law of a law',
    'rolling_controller.measured_state.MeasuredLaw.step': 'a law of an estimator and a law',
    'rolling_controller.nodes.control_loop.ControlLoop._wait': 'holds before the first plan',
    'rolling_controller.nodes.machines.SensedStates.poll': 'the estimator of a node',
    'rolling_robotics.learning.environments.RollingEnv.step': 'an environment of Gymnasium',
    'rolling_robotics.learning.environments.RollingVectorEnv.step': 'environments of Gymnasium',
}


def law_steps(tree, module):
    """Yield where two results of a step are kept, of what is given a memory."""
    for scope, node in in_scopes(tree, module):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        pair, call = node.targets[0], node.value
        kept = isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) == 2
        method = getattr(call.func, 'attr', '')
        if kept and method == 'step' and ast.unparse(pair.elts[0]) != '_':
            yield scope


def test_laws_are_stepped_in_few_places():
    """A second loop for the same purpose would be one more to keep right."""
    found = {at for name, tree in watched('.step(') for at in law_steps(tree, name)}
    assert found == set(STEPS_A_LAW)


def test_a_step_of_a_law_is_found():
    code = """
class Loop:
    def tick(self, x, t):
        self._z, u = self.law.step(self._z, x, t)
    def other(self, x, t):
        _, u = self.law.step(None, x, t)
"""
    assert list(law_steps(ast.parse(code), 'm')) == ['m.Loop.tick']


# What moves a plant, besides the emulation of machines.
MOVES_A_PLANT = {
    'rolling_controller.motion_watch.Predictor.step_with': 'predicts for a watch',
    'rolling_robotics.page.page.page_data': 'the first state of a page',
    'evidence.benchmarks.batch._scalar': 'times a step',
    'evidence.papers.putkaradze_rogers.stepper_rows': 'a stepper motor, no plant',
    'tools.golden._stepped': 'steps that a golden file keeps',
}
# Classes that are put somewhere, and go on from there.
GO_ON = {
    'rolling_dynamics.batch.emulation.EmulatedBatch',
    'rolling_dynamics.batch.simulator.BatchSimulator',
    'rolling_dynamics.contract.instruments.PlantDrive',
    'rolling_hw_interface.emulated_motors.EmulatedMotors',
    'rolling_robotics.learning.environments.RollingEnv',
    'rolling_robotics.learning.environments.RollingVectorEnv',
}


def plants(tree, module):
    """Yield where a plant is stepped, and classes that have the methods of one."""
    for scope, node in in_scopes(tree, module):
        if isinstance(node, ast.Call) and name_of(node.func) == 'Stepper':
            yield scope
        elif isinstance(node, ast.ClassDef):
            names = methods(node)
            if names & {'reset', 'restart'} and names & {'step', 'advance', 'turn', 'command'}:
                yield scope


def test_plants_are_moved_by_the_simulation():
    """Another plant would have its own guards, limits and dead time, or none."""
    some = watched('Stepper(', 'def reset(', 'def restart(')
    found = {at for name, tree in some for at in plants(tree, name)}
    inside = 'rolling_dynamics.simulation.'
    assert {at for at in found if not at.startswith(inside)} == {*MOVES_A_PLANT, *GO_ON}


def test_a_plant_is_found():
    code = """
class Rig:
    def reset(self): pass
    def command(self, u): pass
    def step(self, dt): pass
class Law:
    def step(self, memory, x, t): pass
def moved(system, p):
    return simulation.Stepper(system, p)
"""
    assert list(plants(ast.parse(code), 'm')) == ['m.Rig', 'm.moved']


# What runs a closed loop from its start to its end; functions that call one of these do too.
RUNS = {'answered', 'run_lockstep', 'run_batch', 'run_emulated', 'Emulation'}
# What carries out trials: their loop, and what makes trials of the laboratory for it.
RUNNERS = {'run_trials', 'run_many'}
LOOPS = ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp
# Loops of closed loops, or over seeds, besides the runner of trials.
LOOPS_OF_RUNS = {
    'rolling_planner.seeds.contact_seeds.ContactSeeds.guesses',  # of an optimisation
    'rolling_robotics.demo.demo.Demo.all_trials',
    'rolling_robotics.trials.run.OnArm.run',
    'rolling_robotics.trials.trial.seeded',
}
LOOPS_OF_EVIDENCE = {
    'evidence.benchmarks.cortex_m.rows',
    'evidence.benchmarks.dynamics._ratios',
    'evidence.benchmarks.lanes.EstimateError.drawn',
    'evidence.benchmarks.lanes.Period.starts',
    'evidence.benchmarks.lanes.measured',
    'evidence.benchmarks.trials.run_missing',
    'tools.pictures.predictive',
}


def lead_to(runs, functions):
    """Return the names of runs, and of functions (name -> names called) that lead to one."""
    runs, before = {*runs}, 0
    while len(runs) > before:
        before = len(runs)
        runs |= {name for name, names in functions if names & runs}
    return runs


@cache
def functions_of(path):
    """Return name, and names called, of each function in a file."""
    return functions_in(parsed(path))


def functions_in(tree):
    return [(n.name, called(n)) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]


def loops_of_runs(tree, module, runs):
    """Yield the functions with a loop of closed loops, or over seeds of what they call."""
    stepped = {at.rpartition('.')[2] for at in law_steps(tree, module)} - {'step'}
    runs = lead_to(runs | stepped, functions_in(tree))
    for scope, node in in_scopes(tree, module):
        if isinstance(node, LOOPS):
            loops = [node, *getattr(node, 'generators', ())]
            targets = ' '.join(ast.unparse(t.target) for t in loops if hasattr(t, 'target'))
            calls = called(node)
            if calls & runs or ('seed' in targets and calls):
                yield scope


def test_trials_are_looped_over_by_their_tasks_and_by_their_runner_alone():
    """Another loop over starts or seeds would count and judge them in a way of its own."""
    every = [f for path in WATCHED.values() for f in functions_of(path)]
    runs = {name for name in lead_to(RUNS, every) if name.startswith('run_')} | RUNS
    runs -= RUNNERS
    some = watched('.step(', 'seed', *runs)
    found = {at for name, tree in some for at in loops_of_runs(tree, name, runs)}
    assert found == LOOPS_OF_RUNS | LOOPS_OF_EVIDENCE


@pytest.mark.parametrize(
    'code',
    [
        """
def one(start):
    return run_lockstep(start)
def other(starts):
    return [one(start) for start in starts]
""",
        """
def one(law, x):
    while True:
        z, u = law.step(z, x)
def other(starts):
    for start in starts:
        one(start)
""",
        """
def other(seeds):
    return [run_some_other_way(seed) for seed in seeds]
""",
    ],
)
def test_a_loop_of_runs_is_found(code):
    assert list(loops_of_runs(ast.parse(code), 'm', RUNS)) == ['m.other']


# what drove, ran and recorded machines before one mechanism did it for all
ONE_OF_EACH = {
    'SteppedPlant', 'RobotPlant', 'HybridRobotPlant', 'RigPlant',
    'EmulatedRig', 'HybridPlant', 'ObservedPlant', 'SimulatedHybridPlant',
    'EmulatedPlant', 'LaboratoryChain', 'ExperimentLaw', 'Robot',
    'FrameLaw', 'SupervisedLaw', 'StickDrive', 'MassDrive',
    'RollingDrive', 'TrialSeen', 'RigRun', 'LabyrinthRun',
    'Seen', 'End',
}  # fmt: skip


def classes_of(*packages):
    """Yield name and node of each class in packages of the suite."""
    for name, path in MODULES.items():
        if name.partition('.')[0] in packages:
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ClassDef):
                    yield node.name, node


def test_what_one_mechanism_replaced_does_not_return():
    names = [name for name, _ in classes_of(*LAYERS)]
    assert not set(names) & ONE_OF_EACH
    for name in ('Trial', 'Execution', 'Emulation', 'ControlLoop', 'Experiment', 'Imperfections'):
        assert names.count(name) == 1, name


def methods(node):
    return {child.name for child in node.body if isinstance(child, ast.FunctionDef)}


def test_plant_and_tick_are_implemented_once():
    """A plant takes controls and returns measurements; a tick of a controller judges and sends."""
    found = [(name, methods(node)) for name, node in classes_of(*LAYERS)]
    assert [n for n, m in found if {'restart', 'send', 'advance'} <= m] == ['Emulation']
    loops = [n for n, node in classes_of('rolling_controller') if 'tick' in methods(node)]
    assert loops == ['ControlLoop']
