"""Environments of Gymnasium: their contract, their physics, and what may be drawn at random."""

import gymnasium
from gymnasium.utils.env_checker import check_env
import numpy as np
import pytest
from rolling_controller import Hold
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import simulate
from rolling_robotics.learning import TASKS
from rolling_robotics.learning.environments import Episodes
from rolling_robotics.learning.tasks import BallOnPlate, ReachGoal
from transforms3d.quaternions import axangle2quat, qmult

GYM = 'rolling_robotics.learning:rolling/'
EVERY = pytest.mark.parametrize('name', TASKS)


def actions_of(env, count, size=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return size * rng.uniform(-1, 1, (count, *env.action_space.shape)).astype(np.float32)


@EVERY
def test_environment_keeps_the_contract_of_gymnasium(name):
    env = gymnasium.make(f'{GYM}{name}', render_mode='rgb_array')
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape == (504, 640, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_result_is_the_episode():
    env = gymnasium.make(f'{GYM}BallOnPlate-v0', render_mode='rgb_array').unwrapped
    with pytest.raises(ParameterError, match='needs render_mode'):
        env.result()
    env.reset(seed=1)
    for action in actions_of(env, 20):
        env.step(action)
    arrays = env.result()['arrays']
    state = env._episodes.task.scenario.system.state
    x = env._episodes.batch.states[0]
    assert arrays['time']['values'][-1] == pytest.approx(0.4)
    for name in ('q_HO', 'w_WH_H'):
        np.testing.assert_allclose(arrays[name]['values'][-1], x[state.slice(name)], atol=1e-6)


@pytest.mark.parametrize(
    'name',
    [pytest.param(n, marks=pytest.mark.slow) if n == 'FlipUpEllipse-v0' else n for n in TASKS],
)
@pytest.mark.parametrize(
    'options', [pytest.param({}, marks=pytest.mark.slow), {'noise': {'rad/s': 0.1}, 'delay': 2}]
)
def test_lane_is_the_environment_of_its_seed_bit_by_bit(name, options):
    """Over the ends of episodes too: an environment begins again at the step after."""
    many = gymnasium.make_vec(f'{GYM}{name}', 5, max_episode_steps=12, **options)
    one = gymnasium.make(f'{GYM}{name}', max_episode_steps=12, **options)
    assert many.metadata['autoreset_mode'] is gymnasium.vector.AutoresetMode.NEXT_STEP
    seen, _ = many.reset(seed=7)
    alone, _ = one.reset(seed=9)
    assert np.array_equal(seen[2], alone)
    over, ends = False, 0
    for action in actions_of(many, 30, 1.0):
        seen, reward, failed, truncated, info = many.step(action)
        assert seen.dtype == np.float32
        if over:
            alone, _ = one.reset()
            result = (0.0, False, False)
        else:
            alone, *result, told = one.step(action[2])
            assert info['stopped'][2] == told['stopped']
        assert np.array_equal(seen[2], alone)
        assert (reward[2], failed[2], truncated[2]) == tuple(result)
        over = bool(failed[2] or truncated[2])
        ends += over
    assert ends >= 2


@EVERY
def test_motion_is_that_of_the_simulator(name):
    """Steps of fixed length against the adaptive integrator at 1e-10, under the same actions."""
    env = gymnasium.make(f'{GYM}{name}').unwrapped
    env.reset(seed=2)
    episodes, task = env._episodes, env._episodes.task
    x, p = episodes.batch.states[0].copy(), episodes.batch.parameters[0].copy()
    for action in actions_of(env, 15, 0.2):
        run = simulate(
            task.scenario.system,
            p,
            x,
            episodes.controls(action[None].astype(float))[0],
            task.dt,
            rtol=1e-10,
            atol=1e-12,
        )
        env.step(action)
        x = episodes.batch.states[0].copy()
        scale = max(1.0, float(np.abs(x).max()))
        assert np.abs(run.states[-1] - x).max() < 2e-6 * scale


def test_reward_and_observation_of_a_ball_beside_its_target():
    """Written out by hand: place, velocity R w, level plate; 1 - tanh of the distance."""
    env = gymnasium.make(f'{GYM}BallOnPlate-v0').unwrapped
    seen, _ = env.reset(seed=4)
    batch = env._episodes.batch
    layout = env._episodes.task.scenario.system.state
    x = batch.states[0]
    place, w = x[layout.slice('contact_h')], x[layout.slice('w_HO_H')]
    goal = batch.goals[0, :2]
    wanted = [*(place - goal), 0.1 * w[1], -0.1 * w[0], 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(seen, wanted, atol=1e-7)
    seen, reward, failed, _, _ = env.step(np.zeros(2))
    distance = np.linalg.norm(env._episodes.batch.states[0, layout.slice('contact_h')] - goal)
    assert reward == pytest.approx(1 - np.tanh(distance / 0.1), rel=1e-12)
    assert np.linalg.norm(seen[:2]) == pytest.approx(distance, rel=1e-6)
    assert not failed


def test_rotation_to_the_goal_takes_the_ball_there():
    env = gymnasium.make_vec(f'{GYM}ReorientBall-v0', 20)
    seen, _ = env.reset(seed=0)
    batch, task = env._episodes.batch, env._episodes.task
    for missing, here, goal in zip(
        seen[:, 10:].astype(float), task.of(batch, 'q_HO'), batch.goals[:, 5:], strict=True
    ):
        angle = np.linalg.norm(missing)
        assert angle <= np.pi + 1e-6
        reached = qmult(axangle2quat(missing, angle), here)
        assert abs(reached @ goal) == pytest.approx(1.0, abs=1e-6)


def by_hand(seen):
    """Return the actions of a linear law for the ball on a plate."""
    place, velocity, normal, turning, ahead = np.split(seen, [2, 4, 6, 8], axis=1)
    slope = -0.6 * place - 0.35 * (velocity - ahead)  # of the normal, towards the target
    error = slope - normal
    wanted = 60.0 * error + 14.0 * np.column_stack([-turning[:, 1], turning[:, 0]])
    return np.clip(np.column_stack([-wanted[:, 1], wanted[:, 0]]) / 10.0, -1, 1)


@pytest.mark.parametrize('target', ['point', pytest.param('circle', marks=pytest.mark.slow)])
def test_law_written_by_hand_solves_the_ball_on_a_plate(target):
    """The task can be done, and is not done by doing nothing."""
    env = gymnasium.make_vec(f'{GYM}BallOnPlate-v0', 16, target=target)
    returns = {}
    for name, law in (('by hand', by_hand), ('none', lambda s: np.zeros((len(s), 2)))):
        seen, _ = env.reset(seed=0)
        total, alive = np.zeros(16), np.ones(16, bool)
        for _ in range(250):
            seen, reward, failed, _, info = env.step(law(seen.astype(float)))
            total += alive * reward
            alive &= ~failed
        returns[name] = np.where(alive, total, 0.0)
        if name == 'by hand':
            assert alive.all()
            assert target == 'circle' or info['success'].mean() > 0.9
    assert returns['by hand'].min() > 125
    assert np.median(returns['none']) < 60


def test_parameters_and_noise_are_drawn_as_asked():
    options = {'randomise': {'mass': 0.2, 'mu': 0.1}, 'noise': {'m': 2e-3}}
    env = gymnasium.make_vec(f'{GYM}BallOnPlate-v0', 400, **options)
    seen, _ = env.reset(seed=0)
    batch, task = env._episodes.batch, env._episodes.task
    layout = task.scenario.system.parameters
    ratio = batch.parameters / np.where(task.scenario.p == 0, 1, task.scenario.p)
    mass, mu = (ratio[:, layout.slice(name)][:, 0] for name in ('mass', 'mu'))
    for drawn, share in ((mass, 0.2), (mu, 0.1)):
        assert np.all(np.abs(drawn - 1) <= share)
        assert np.std(drawn) == pytest.approx(share / np.sqrt(3), rel=0.1)
    assert abs(np.corrcoef(mass, mu)[0, 1]) < 0.15
    others = np.delete(batch.parameters, np.r_[layout.slice('mass'), layout.slice('mu')], axis=1)
    assert np.all(others == others[0])
    off = seen - task.observe(batch)
    assert np.std(off[:, :2]) == pytest.approx(2e-3, rel=0.1)
    assert np.abs(off[:, 2:]).max() < 1e-6


def test_delay_tells_what_was_seen_before():
    late, now = (gymnasium.make(f'{GYM}PendulumSphere-v0', delay=d) for d in (3, 0))
    first, _ = now.reset(seed=1)
    told = [late.reset(seed=1)[0]]
    seen = [first]
    for action in actions_of(now, 10):
        seen.append(now.step(action)[0])
        told.append(late.step(action)[0])
    for k in range(11):
        assert np.array_equal(told[k], seen[max(k - 3, 0)])


@pytest.fixture(scope='module')
def balanced():
    """Return 40 environments of a robot with sensors and motors, after a second under a hold."""
    env = gymnasium.make_vec(f'{GYM}ReachGoal-v0', 40, scenario='two_wheeler').unwrapped
    seen, _ = env.reset(seed=3)
    scenario, rows = env._episodes.task.scenario, []
    hold = Hold(scenario.system, scenario.p, scenario.x0, control_limits=0.8)
    for _ in range(50):
        rows.append((seen, env._episodes._plant._past[-2].copy()))
        actions = [hold.step(None, x, 0.0)[1] / 0.8 for x in env._episodes.batch.states]
        seen, _, failed, _, _ = env.step(np.array(actions))
        assert not failed.any()
    return env, rows


def test_sensors_of_the_scenario_are_what_is_observed(balanced):
    """With their covariance, 2 ms late, of which a step of the emulation is one."""
    env, rows = balanced
    sensors = env._episodes.task.scenario.sensors
    names = [e.name for e in env._episodes.observed]
    assert names[0] == 'imu orientation'
    assert env.single_observation_space.shape == (sum(s.output.size for s in sensors),)
    off = np.concatenate([seen - past for seen, past in rows[1:]])
    deviations = np.sqrt(np.concatenate([np.diag(s.covariance) for s in sensors]))
    moved = deviations > 0
    np.testing.assert_allclose(off.std(axis=0)[moved], deviations[moved], rtol=0.1)
    assert np.abs(off[:, ~moved]).max(initial=0.0) < 1e-5


def test_actions_are_commands_to_the_motors_of_the_scenario(balanced):
    """A dead time of 2 ms, one of the ten parts of a step."""
    env, _ = balanced
    before = env._episodes.held[-1].copy()
    env.step(np.full((40, 2), 0.1))
    assert env._episodes.held.shape == (10, 40, 2)
    assert (env._episodes.held[0] == before).all()
    np.testing.assert_allclose(env._episodes.held[1:], 0.08)


def test_an_environment_with_sensors_is_that_of_its_seed_bit_by_bit():
    options = {'scenario': 'two_wheeler', 'max_episode_steps': 8}
    many = gymnasium.make_vec(f'{GYM}ReachGoal-v0', 3, **options)
    one = gymnasium.make(f'{GYM}ReachGoal-v0', render_mode='rgb_array', **options)
    seen, alone = many.reset(seed=7)[0], one.reset(seed=9)[0]
    for k, action in enumerate(actions_of(many, 20, 0.1)):
        assert np.array_equal(seen[2], alone)
        seen, *_ = many.step(action)
        alone, *_ = one.reset() if k % 9 == 8 else one.step(action[2])
    episodes, arrays = one.unwrapped._episodes, one.unwrapped.result()['arrays']
    x = episodes.batch.states[0]
    place = episodes.task.scenario.system.state.slice('p_body')
    np.testing.assert_allclose(arrays['p_body']['values'][-1], x[place], atol=1e-6)


def test_noise_or_delay_that_is_given_is_that_of_the_task_in_place_of_the_sensors():
    task = ReachGoal(scenario='two_wheeler')
    for given in ({'noise': {}}, {'delay': 1}):
        assert Episodes(task, 1, **given).observed == task.observed
    assert Episodes(BallOnPlate(), 1).observed == BallOnPlate.observed


@pytest.mark.parametrize(
    ('tilting', 'end'), [([1.0] * 60, ''), ([0.3] * 10 + [-0.3] * 10 + [0.0] * 200, 'edge')]
)
def test_steep_plate_and_ball_over_the_edge_end_the_episode(tilting, end):
    env = gymnasium.make(f'{GYM}BallOnPlate-v0')
    env.reset(seed=0)
    for push in tilting:
        _, reward, failed, truncated, info = env.step([push, 0.0])
        assert not truncated
        if failed:
            break
    assert failed
    assert info['stopped'] == end
    assert (reward == 0.0) == bool(end)


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ({'randomise': {'mas': 0.1}}, "randomise: no parameter 'mas'"),
        ({'randomise': {'mass': 1.0}}, 'mass must be at least 0 and below 1'),
        ({'noise': {'mm': 1.0}}, "noise: no observation of the unit 'mm'"),
        ({'noise': {'m': -1.0}}, 'm must be zero or positive'),
        ({'delay': -1}, 'delay must be a number of steps'),
        ({'target': 'square'}, 'target must be one of'),
    ],
)
def test_option_out_of_range_is_refused(options, text):
    with pytest.raises(ParameterError, match=text):
        gymnasium.make(f'{GYM}BallOnPlate-v0', **options)


def test_every_task_says_what_it_is_about():
    for name, task in TASKS.items():
        assert name == f'{task.__name__}-v0'
        assert 'reward' in task.__doc__ or 'BallOnPlate' in task.__doc__
        assert 'uccess' in task.__doc__
    assert issubclass(TASKS['ReorientBall-v0'], BallOnPlate)


def test_starts_of_a_machine_have_their_contacts_closed():
    task = ReachGoal(scenario='two_wheeler')
    rng, starts = np.random.default_rng(0), []
    for _ in range(10):
        x, _ = task.start(rng)
        task.scenario.system.check_state(task.scenario.p, x)
        starts.append(x)
    assert np.ptp(starts, axis=0)[:2].max() > 1e-3
