"""`rolling check` refuses what does not mean anything, by the entry; through files."""

import copy

import pytest
import yaml

ELLIPSOID = {
    'kind': 'expression',
    'position': ['a*sin(u)*cos(v)', 'b*sin(u)*sin(v)', 'c*cos(u)'],
    'dimensions': {'a': 0.1, 'b': 0.2, 'c': 0.3},
    'u_bounds': [0, 'pi'],
    'v_period': '2*pi',
}
SUPPORT = 'sqrt((a*nx)^2 + (b*ny)^2 + (c*nz)^2)'
SYSTEMS = ('spinning_plate', 'pendulum_torque', 'point_mass_wind', 'spin_rolling_straight')


@pytest.fixture
def check(rolling, scenarios, tmp_path):
    """Check an example with other entries; return how the command ended."""

    def run(name, **entries):
        document = yaml.safe_load((scenarios / f'{name}.yaml').read_text())
        file = tmp_path / f'{name}.yaml'
        file.write_text(yaml.safe_dump(document | entries, sort_keys=False))
        return rolling('check', file)

    return run


def refused(ended, *words):
    """Whether the command ended with status 2 and one line that holds these words in order."""
    (line,) = ended.err.splitlines()
    places = [line.find(word) for word in words]
    return ended.status == 2 and -1 not in places and places == sorted(places)


VARIED = [
    ({'friction.mu': ['((((', 2]}, 'sweep.vary.friction.mu'),
    ({'friction.mu': [0.5, 0.6, '1/0']}, 'sweep.vary.friction.mu'),
    ({'friction.mu': [1, 'mu']}, 'sweep.vary.friction.mu'),
    ({'friction.mu': [0.5, None]}, 'sweep.vary.friction.mu'),
    ({'friction.mu': {'from': '((((', 'to': 2, 'count': 3}}, 'sweep.vary.friction.mu.from'),
    ({'friction.mu': {'from': -1, 'to': 2, 'count': 3}}, 'sweep.vary.friction.mu'),
    ({'friction.mu': {'from': 1, 'to': 2, 'count': 3.0}}, 'sweep.vary.friction.mu.count'),
    ({'friction.mu': {'from': 1, 'to': 2, 'count': 10**400}}, 'sweep.vary'),
    ({'friction.mu': {'from': 5e-324, 'to': 1, 'count': 3, 'spacing': 'log'}}, 'spacing'),
    ({'frictoin.mu': [1, 2]}, "did you mean 'friction'"),
    ({'((((': [1, 2]}, 'is not the path'),
]


@pytest.mark.parametrize(('vary', 'words'), VARIED)
def test_axes_of_a_sweep_are_checked(vary, words, check, fault_row):
    told = fault_row(f'`rolling check` of a sweep over {str(vary)[1:-1]}')
    ended = check('spinning_plate', sweep={'vary': vary})
    assert refused(ended, words)
    told(f'status 2: {ended.err.partition(": ")[2]}')


@pytest.mark.parametrize('formula', ['((((+$x', '1/($x - 2)', '$x*y'])
def test_formulas_of_a_sweep_are_checked_at_its_values(formula, check):
    sweep = {'vary': {'$x': [1, 2]}, 'set': {'friction.mu': formula}}
    assert refused(check('spinning_plate', sweep=sweep), 'sweep.vary.$x', 'friction.mu: ')


@pytest.mark.parametrize('entry', ['count', 'seed'])
def test_whole_numbers_of_a_sweep_are_whole(entry, check):
    samples = {'count': 3, 'seed': 1} | {entry: 3.0}
    sweep = {'vary': {'friction.mu': {'from': 1, 'to': 2}}, 'samples': samples}
    assert refused(check('spinning_plate', sweep=sweep), f'sweep.samples.{entry}', 'whole')


def test_a_sweep_that_runs_in_part_is_good_and_says_what_is_left_out(check):
    """A start off the plate is a row that failed, not a fault of the sweep."""
    sweep = {'vary': {'initial.contact.u_h': [0, 5]}}
    ended = check(
        'spinning_plate', hand={'surface': {'kind': 'plane'}, 'edges': EDGES}, sweep=sweep
    )
    assert ended.status == 0
    assert 'point 1' in ended.err
    assert 'lies off the hand' in ended.err


EDGES = {'u': [-1, 1], 'v': [-1, 1]}


def formula_in(name, document, formula):
    """Return the section of an example with a formula in the place of one, and its path."""
    if name == 'spinning_plate':
        motion = {'acceleration': {'a_WH_H': [0, formula, 0]}}
        return {'hand_motion': motion}, 'hand_motion.acceleration.a_WH_H[1]'
    if name == 'pendulum_torque':
        return {'drive': {'torque': [0, formula, 0]}}, 'drive.torque[1]'
    if name == 'point_mass_wind':
        masses = copy.deepcopy(document['masses'])
        masses[1]['drive'] = formula
        return {'masses': masses}, 'masses[1].drive'
    inputs = copy.deepcopy(document['inputs'])
    inputs['direction']['alpha_s'] = formula
    return {'inputs': inputs}, 'inputs.direction.alpha_s'


@pytest.mark.parametrize(
    'formula', ['1/t', '1/0', 'log(-1)', '1/(t - 0.25)', '1e300*t', 'sqrt(1-4*t)']
)
@pytest.mark.parametrize('name', SYSTEMS)
def test_a_formula_without_a_value_is_refused(name, formula, check, scenarios, fault_row):
    document = yaml.safe_load((scenarios / f'{name}.yaml').read_text())
    entries, path = formula_in(name, document, formula)
    told = fault_row(f'`rolling check` of {path} = {formula}')
    ended = check(name, **entries, duration=0.5)
    assert refused(ended, f'{path}: is ', 'at t = ')
    told(f'status 2: {ended.err.partition(": ")[2]}')


def test_a_motion_without_acceleration_is_refused(check):
    """Position and velocity at t^1.5 exist, the acceleration at the start does not."""
    ended = check('ellipsoid_in_dish', hand_motion={'motion': {'position': ['t^1.5', 0, 0.3]}})
    assert ended.status == 2
    assert 'hand_motion.motion' in ended.err
    late = check(
        'ellipsoid_in_dish', hand_motion={'motion': {'position': ['fabs(t - 2)^1.5', 0, 0.3]}}
    )
    assert refused(late, 'hand_motion.motion: a_WH_H[0]', 'at t = 2')


def test_a_force_without_a_value_at_the_start_is_refused(check):
    assert refused(check('point_mass_wind', force=['1/x', 0, 0]), 'initial: ', 'not finite')


TINY = [
    ('spinning_plate', {'object': {'surface': {'kind': 'sphere', 'radius': 1e-300}}}, 'radius'),
    ('spin_rolling_plan', {'radius': 1e-300}, 'radius'),
    ('point_mass_disk_sweep', {'tolerances': {'absolute': 1e-300}}, 'tolerances.absolute'),
]


@pytest.mark.parametrize(('name', 'entries', 'path'), TINY)
def test_what_vanishes_is_refused_by_check_and_simulate(
    name, entries, path, check, rolling, tmp_path, fault_row
):
    if 'object' in entries:
        entries['object'] |= {'mass': 0.1, 'inertia': 'solid'}
    told = fault_row(f'`rolling check` of {name} with {path} = 1e-300')
    ended = check(name, **entries)
    assert refused(ended, f'{path}: must be at least 1e-30')
    told(f'status 2: {ended.err.partition(": ")[2]}')
    again = rolling('simulate', tmp_path / f'{name}.yaml', '--out', tmp_path / 'out.json')
    assert again == ended


def body(support, **changes):
    """Return an ellipsoid given by formulas."""
    surface = ELLIPSOID | changes | {'support': support}
    return {'surface': surface, 'mass': 0.1, 'inertia': [1e-3, 1e-3, 1e-3]}


def off(ended):
    """Return by how much the support function is said to be off [m]."""
    return float(ended.err.partition(': error ')[2].partition(' m')[0])


POSITION = [0, -0.01660180397401761, 0.2991682878348423]
PLACED = {'object': {'position': POSITION, 'attitude': {'rpy': [0.1, 0, 0]}}}


@pytest.mark.parametrize(
    ('support', 'distance'),
    [
        ('b*sqrt(nx^2 + ny^2 + nz^2)', 0.2),  # a ball that lies inside and outside
        ('sqrt((a*nx)^2 + (b*ny)^2 + (b*nz)^2)', 0.1),
        (f'{SUPPORT} + 0.01*nz', 0.01),  # the body, moved
        (f'1.0001*{SUPPORT}', 3e-5),
        (f'-{SUPPORT}', 0.6),
        (f'({SUPPORT})^2', None),  # not homogeneous of degree 1
        ('0.3', 0.3),
        ('nz/0', None),
    ],
)
def test_a_support_function_of_another_body_is_refused(support, distance, check, fault_row):
    told = fault_row(f'`rolling check` of an ellipsoid with the support function {support}')
    ended = check('spinning_plate', object=body(support), initial=PLACED)
    told(f'status 2: {ended.err.partition(": ")[2]}')
    assert refused(ended, 'object.surface', 'support', '(u, v) = (', ': error ')
    if distance is not None:
        assert off(ended) == pytest.approx(distance, rel=0.3)


def test_the_support_function_of_the_body_is_good(check):
    assert check('spinning_plate', object=body(SUPPORT), initial=PLACED).status == 0


def test_a_body_turned_inside_out_is_refused(check):
    """F_u x F_v points into the material: the smallest n . x passes for the largest."""
    x, y, z = ELLIPSOID['position']
    ended = check('spinning_plate', object=body(f'-{SUPPORT}', position=[x, f'-{y}', z]))
    assert refused(ended, 'object.surface', 'support', 'out of which F_u x F_v points')
    assert off(ended) > 0.1


@pytest.mark.parametrize(
    ('name', 'entries', 'path'),
    [
        ('spin_rolling_ball', {'radius': 100}, 'radius: is 100 m meant?'),
        ('spin_rolling_ball', {'radius': '5e-5'}, 'radius: is 5e-05 m meant?'),
        (
            'spinning_plate',
            {
                'object': {
                    'surface': {'kind': 'sphere', 'radius': 0.2},
                    'mass': 100e3,
                    'inertia': 1,
                }
            },
            'object.mass: is 100000 kg meant? With its size that is 2.98e+06 kg/m^3',
        ),
        (
            'point_mass_straight',
            {'ball': {'mass': 1e-3, 'radius': 9, 'inertia': 0.04}},
            'ball.mass: is 1.001 kg meant?',
        ),
    ],
)
def test_what_is_hardly_meant_is_asked(name, entries, path, check):
    ended = check(name, **entries)
    assert ended.status == 0
    assert path in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.slow
def test_nothing_is_asked_of_the_examples(rolling, scenarios):
    ended = rolling('check', *sorted(scenarios.glob('*.yaml')))
    assert (ended.status, ended.err) == (0, '')


@pytest.mark.parametrize(
    ('given', 'instead'),
    [
        ('100 mm', 'in metres: 0.1'),
        ('100mm', 'in metres: 0.1'),
        ('2.5e1 cm', 'in metres: 0.25'),
        ('90 deg', 'in radians: 1.5707963'),
        ('3 m', 'in metres: 3'),
    ],
)
def test_a_number_with_a_unit_is_told_without_it(given, instead, check):
    assert refused(check('spin_rolling_ball', radius=given), 'radius: ', instead)
