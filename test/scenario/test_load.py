"""Scenarios say what they mean: every way to write a start or a motion gives the same system."""

import copy
from pathlib import Path
import re
from typing import Literal

import jsonschema
import numpy as np
import pytest
from rolling_dynamics import plugin
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.plugin import register_plugin, SystemPlugin
from rolling_dynamics.scenario import (
    load_scenario,
    ScenarioFile,
    surface_section,
)
from rolling_dynamics.scenario.contact import ContactFile
from rolling_dynamics.scenario.faults import schema_of
from rolling_dynamics.scenario.fields import quantity
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import ExpressionSurface
from rolling_planner.planners.planner import planner_of
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.scenario_schema import scenario_schema, updated
from transforms3d.euler import euler2quat
from transforms3d.quaternions import quat2mat
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / 'config' / 'scenarios').glob('*.yaml'))
DOCUMENT = (ROOT / 'docs' / 'scenario.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'```yaml\n(.*?)```', DOCUMENT, re.DOTALL)


def plate(**changes):
    """Return the spinning plate, entries at the top replaced."""
    document = yaml.safe_load((ROOT / 'config/scenarios/spinning_plate.yaml').read_text())
    return copy.deepcopy(document) | changes


def start(**initial):
    base = plate()['initial']
    return load_scenario(
        plate(initial={k: v for k, v in (base | initial).items() if v is not None})
    )


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda p: p.stem)
def test_examples_load(path):
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    assert scenario.description
    assert scenario.x0.shape == (scenario.system.state.size,)
    if 'plan' in scenario.raw:
        problem = planner_of(scenario.system.name).problem(scenario)
        wanted = scenario.raw['plan'].get('horizon', scenario.duration)
        assert getattr(problem, 'horizon', wanted) == wanted


@pytest.mark.parametrize('block', BLOCKS)
def test_blocks_of_the_document_load(block):
    part = yaml.safe_load(block)
    document = part if 'system' in part else plate(**part)
    if 'plan' in part:
        document['initial'] = {'contact': document['initial']['contact']}
    if 'motion' in part.get('hand_motion', {}):
        del document['initial']['hand']
    scenario = load_scenario(document)
    if 'plan' in part:
        assert read_problem(scenario).goal


def test_tables_of_the_document_are_those_of_the_schemas():
    assert updated(DOCUMENT) == DOCUMENT, 'run python -m rolling_robotics.scenario_schema'


def test_values_arrive_where_they_belong():
    scenario = load_scenario(plate())
    params = scenario.system.parameters.unpack(scenario.p)
    assert params['mass'] == 0.1
    assert params['gravity_W'].tolist() == [0, 0, -9.81]
    assert params['inertia'][:3] == pytest.approx([0.4 * 0.1 * 0.2**2] * 3, rel=1e-15)
    assert scenario.system.state.unpack(scenario.x0)['w_WH_H'].tolist() == [0, 0, 7]
    assert scenario.control.held.tolist() == [0] * 6
    assert scenario.events['friction'] == 'record'
    assert scenario.events['normal_force'] == 'stop'


def test_relative_velocity_in_every_form_is_one():
    reference = start().x0
    by_world = start(relative_velocity={'w_WO_W': [1, 0, 0]}).x0
    assert by_world == pytest.approx(reference, abs=1e-14)


def test_contact_by_coordinates_or_pose_is_one():
    reference = start(contact={'u_o': 1.1, 'v_o': 0.4, 'u_h': 0.2, 'v_h': -0.1, 'psi': 0.7})
    values = reference.system.state.unpack(reference.x0)
    q_HO = values['q_HO'].tolist()
    by_pose = start(
        contact=None,
        object={'position': [0.2, -0.1, 0.2], 'attitude': {'quaternion': q_HO}},
    )
    assert by_pose.x0 == pytest.approx(reference.x0, abs=1e-9)


def test_pose_is_in_the_world_also_where_the_hand_is_not():
    hand = {'position': [1, 2, 3], 'attitude': {'rpy': [0.3, -0.2, 0.5]}}
    R_WH = quat2mat(euler2quat(0.3, -0.2, 0.5))
    centre = np.array([1, 2, 3]) + R_WH @ [0.05, 0.02, 0.2]
    scenario = start(contact=None, hand=hand, object={'position': centre.tolist()})
    values = scenario.system.state.unpack(scenario.x0)
    assert values['contact_h'] == pytest.approx([0.05, 0.02], abs=1e-12)
    X_WO = np.array(scenario.system.pose(scenario.x0, scenario.p)[1])
    assert X_WO[:3, 3] == pytest.approx(centre, abs=1e-12)
    assert X_WO[:3, :3] == pytest.approx(np.eye(3), abs=1e-12)


def test_attitude_in_every_form_is_one():
    angle = 0.4
    forms = {
        'rpy': [0, 0, angle],
        'rotation_vector': [0, 0, angle],
        'quaternion': [np.cos(angle / 2), 0, 0, np.sin(angle / 2)],
    }
    found = [start(hand={'attitude': {k: v}}).x0[:4] for k, v in forms.items()]
    assert found[0] == pytest.approx(euler2quat(0, 0, angle), abs=1e-15)
    assert found[1] == pytest.approx(found[0], abs=1e-15)
    assert found[2] == pytest.approx(found[0], abs=1e-15)
    rpy = start(hand={'attitude': {'rpy': [0.3, -0.2, 0.5]}}).x0[:4]
    assert rpy == pytest.approx(euler2quat(0.3, -0.2, 0.5), abs=1e-15)


def test_gravity_by_tilt():
    scenario = load_scenario(plate(gravity={'magnitude': 2, 'tilt': 'pi/6', 'azimuth': 'pi/2'}))
    gravity = scenario.system.parameters.unpack(scenario.p)['gravity_W']
    assert gravity == pytest.approx([0, 1, -np.sqrt(3)], abs=1e-14)


def test_representations_start_in_the_same_place():
    one, two = (load_scenario(plate(representation=r)) for r in ('attitude', 'coordinates'))
    for k in range(3):
        a, b = (np.array(s.system.pose(s.x0, s.p)[k]) for s in (one, two))
        assert a == pytest.approx(b, abs=1e-14)
    u = np.zeros(6)
    a, b = (np.array(s.system.mode.wrench(s.x0, u, 0, s.p)) for s in (one, two))
    assert a == pytest.approx(b, abs=1e-13)


def motion_of(document, times):
    scenario = load_scenario(document)
    done = simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest,
        scenario.duration,
        t_eval=times,
    )
    return scenario.system.state.unpack(done.states)


def moving(hand_motion, **changes):
    document = plate(hand_motion=hand_motion, duration=1, **changes)
    if 'motion' in hand_motion:
        del document['initial']['hand']
        document['initial']['relative_velocity'] = {'w_HO_Ch': [0.1, 0.2, 0.3]}
    return document


def test_prescribed_motion_is_followed_exactly():
    times = np.linspace(0.1, 1, 10)
    values = motion_of(
        moving(
            {
                'motion': {
                    'position': ['0.1*sin(2*t)', '0.05*t^2', '0.02*cos(3*t)'],
                    'attitude': {'rpy': ['0.2*sin(t)', '0.1*t', '0.3*sin(2*t)']},
                }
            }
        ),
        times,
    )
    position = np.column_stack(
        [0.1 * np.sin(2 * times), 0.05 * times**2, 0.02 * np.cos(3 * times)]
    )
    assert values['p_WH'] == pytest.approx(position, abs=1e-10)
    wanted = [euler2quat(0.2 * np.sin(t), 0.1 * t, 0.3 * np.sin(2 * t)) for t in times]
    assert np.abs(np.sum(values['q_WH'] * wanted, axis=1)) == pytest.approx(1, abs=1e-12)


def test_breakpoints_are_linear_between():
    times = np.linspace(0, 1, 11)
    points = motion_of(
        moving(
            {
                'breakpoints': {
                    'times': [0, 0.5, 1],
                    'a_WH_H': [[0, 0, 0], [1, 0, 0], [0, 0, 0]],
                    'alpha_WH_H': [[0, 0, 0], [0, 0, -2], [0, 0, 0]],
                }
            }
        ),
        times,
    )
    hat = '2*where(t < 0.5, t, 1 - t)'
    formula = motion_of(
        moving(
            {
                'acceleration': {
                    'a_WH_H': [hat, 0, 0],
                    'alpha_WH_H': [0, 0, f'-2*({hat})'],
                }
            }
        ),
        times,
    )
    for name, values in points.items():
        assert values == pytest.approx(formula[name], abs=1e-8), name


def test_twist_rate_is_the_derivative_of_the_components():
    times = np.linspace(0, 1, 11)
    values = motion_of(moving({'twist_rate': ['t', 0, 0.5, 0, '2*t', -1]}), times)
    assert values['w_WH_H'][:, 0] == pytest.approx(times**2 / 2, abs=1e-12)
    assert values['w_WH_H'][:, 2] == pytest.approx(7 + 0.5 * times, abs=1e-12)
    assert values['v_WH_H'][:, 1] == pytest.approx(times**2, abs=1e-11)
    assert values['v_WH_H'][:, 2] == pytest.approx(-times, abs=1e-11)


def test_output_times():
    assert load_scenario(plate()).output_times.size == 1001
    scenario = load_scenario(plate(duration=1.05, output={'rate': 10}))
    assert scenario.output_times[-2:] == pytest.approx([1.0, 1.05])
    assert load_scenario(plate(output={'times': [0, 0.1, 9]})).output_times.tolist() == [0, 0.1, 9]


def test_file_and_mapping_are_one(tmp_path):
    path = tmp_path / 'here.yaml'
    path.write_text(yaml.safe_dump(plate()))
    scenario = load_scenario(path)
    assert scenario.name == 'here'
    assert scenario.x0.tolist() == load_scenario(plate()).x0.tolist()
    assert scenario.raw == plate()


@pytest.mark.parametrize('given', ['entry', 'file'])
def test_no_control_characters_come_from_a_name(given, tmp_path):
    """They would act in the terminal that shows it."""
    name = 'red\x1b[31m\nand\u202eback'
    path = tmp_path / f'{name}.yaml'
    path.write_text(yaml.safe_dump(plate(**({'name': name} if given == 'entry' else {}))))
    assert load_scenario(path).name == 'red?[31m and?back'


def test_mapping_of_arrays_is_read_too():
    scenario = load_scenario(plate(gravity=np.array([0, 0, -1.5])))
    assert scenario.system.parameters.unpack(scenario.p)['gravity_W'].tolist() == [0, 0, -1.5]


@pytest.fixture
def no_plugins(monkeypatch):
    monkeypatch.setattr(plugin, '_KNOWN', {})


def test_a_new_system_needs_no_change_here(no_plugins):
    class Toy(ScenarioFile):
        """A toy."""

        size: float = quantity('how large', 'm', positive=True)

        def build(self, name, raw):
            return name, self.size, raw

    register_plugin(SystemPlugin(name='toy', protocol=2, scenario=Toy))
    document = {'system': 'toy', 'size': '2*0.1', 'duration': 1}
    assert load_scenario(document, 'mine') == ('mine', 0.2, document)
    with pytest.raises(ScenarioError, match=r"size: must be positive \[m\], got '-1'"):
        load_scenario(document | {'size': '-1'})
    with pytest.raises(ScenarioError, match=r"'toi'.*did you mean 'toy'.*with a plug-in"):
        load_scenario({'system': 'toi'})


def test_a_new_kind_of_surface_is_read_and_told_of(monkeypatch):
    class Dish(surface_section.SurfaceSection):
        """A dish."""

        kind: Literal['dish']
        depth: float = quantity('how deep', 'm', positive=True)

        def surface(self, edges):  # noqa: ARG002
            return ExpressionSurface(('u', 'v', f'{self.depth}*(u^2 + v^2)'))

    kinds = surface_section.SURFACES
    monkeypatch.setattr(kinds, 'own', dict(kinds.own))
    kinds.add(Dish)
    document = plate(initial={'contact': {'u_o': 'pi/2', 'v_o': 0, 'u_h': 0, 'v_h': 0}})
    document['hand']['surface'] = {'kind': 'dish', 'depth': 0.5}
    assert load_scenario(document).system.hand_surface.name == 'expression'
    document['hand']['surface'] = {'kind': 'dish', 'deepth': 0.5}
    with pytest.raises(ScenarioError) as e:
        load_scenario(document)
    assert sorted(str(e.value).splitlines()) == [
        "hand.surface.deepth: unknown entry; did you mean 'depth'? there are: kind, depth",
        "hand.surface.depth: is missing (how deep [m]); is it 'deepth', misspelt?",
    ]
    kinds = schema_of(ContactFile)['properties']['hand']['properties']['surface']['allOf']
    assert kinds[-1]['then']['properties']['depth']['unit'] == 'm'


BAD = """\
system: contact
object:
  surface: {kind: sphere, radius: 0.2}
  mass: -0.1
  inertia: solid
hand:
  surface:
    kind: plane
initial:
  contact: {u_o: pi/2, v_o: 0, u_h: 0,
            v_h: [0]}
friction:
  - mu
  - 1
plan: {segments: 2.5, goal: {u_h: 0}}
"""


def test_errors_tell_the_line_of_the_file(tmp_path):
    path = tmp_path / 'bad.yaml'
    path.write_text(BAD)
    with pytest.raises(ScenarioError) as e:
        load_scenario(path)
    assert sorted(str(e.value).splitlines()) == [
        'duration: is missing (time to simulate, and horizon of a plan [s])',
        "friction: must be a mapping, got ['mu', 1] (line 12)",
        'initial.contact.v_h: must be a number or a formula, got [0] (line 11)',
        'object.mass: must be positive [kg], got -0.1 (line 4)',
    ]
    path.write_text(
        BAD.replace('-0.1', '1').replace('[0]', '0').replace('  - mu\n  - 1', '  mu: 1')
    )
    with pytest.raises(ScenarioError, match=r'^duration: is missing'):
        load_scenario(path)
    path.write_text(path.read_text() + 'duration: 1\n')
    with pytest.raises(ScenarioError) as e:
        read_problem(load_scenario(path))
    assert str(e.value) == 'plan.segments: must be a whole number, got 2.5 (line 14)'
    path.write_text(BAD.replace('-0.1', '.inf'))
    with pytest.raises(ScenarioError) as e:
        load_scenario(path)
    assert str(e.value) == 'object.mass: must be a finite number, got inf (line 4)'


def test_shipped_scenarios_fit_the_published_schema():
    schema = scenario_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for path in EXAMPLES:
        assert not list(validator.iter_errors(yaml.safe_load(path.read_text()))), path.stem


@pytest.mark.parametrize(
    ('entry', 'value', 'good'),
    [
        ('mass', '0.1*2', True),
        ('mass', 0, False),
        ('mas', 1, False),
        ('surface', {'kind': 'sphere'}, False),
        ('inertia', [1, 'pi', 2], True),
    ],
)
def test_an_editor_marks_what_does_not_fit(entry, value, good):
    document = plate()
    document['object'][entry] = value
    assert jsonschema.Draft202012Validator(scenario_schema()).is_valid(document) is good
