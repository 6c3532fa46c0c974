"""A ball balancer and a labyrinth whose frames are not true, in lockstep."""

from pathlib import Path
import sys

import numpy as np
import pytest
from rolling_controller import measured_state
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.labyrinth import LabyrinthLaw
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig import FASTEST, run_rig, supervised, UNLEVEL
from rolling_controller.supervisor import step
from rolling_dynamics.ball_balancer.rig_file import begin, emulated_rig, rig_file
from rolling_dynamics.scenario import load_scenario
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_robotics.plugins.labyrinth.demo import Arrival, Through
from rolling_robotics.trials.trial import run_trials, seeded, Trial

sys.path.append(str(Path(__file__).parents[1] / 'controller'))

from branches import branch
from windows import noncentrality

BEGIN, END = 1.5, 4.0  # s, of the fault and of a run
WITHIN = 0.1  # s from when a fault is knowable to the safe command
PUSH = 0.1  # m/s; an impulse of 3.3 mN s on the ball of 33 g


def frozen(_k, _place, last, _rng):
    return last


def away(_k, _place, _last, rng):
    return 9.9, 1e-4 * rng.normal()


def jumping(k, place, _last, _rng):
    return place[0] + 0.078 * (k % 2) - 0.039, place[1]


def two_cameras(k, place, _last, _rng):
    return place[0] + 0.03 * (k % 2), place[1]


def anywhere(_k, _place, _last, rng):
    return rng.uniform(-0.08, 0.08, 2)


FAULTS = {  # functions of a frame: number since the fault, place, last good place, random numbers
    'the picture is frozen, with fresh stamps': frozen,
    'the ball is seen 9.9 m away': away,
    'the ball jumps by 78 mm each frame': jumping,
    'two cameras 30 mm apart take turns': two_cameras,
    'the ball is seen anywhere': anywhere,
}


@pytest.fixture(scope='module')
def rig():
    file = rig_file(load_scenario('ball_balancer'))
    return file, LAWS['lqr'](RigModel.of(file))


@pytest.fixture(scope='module')
def labyrinth():
    file = rig_file(load_scenario('labyrinth'))
    return file, LabyrinthLaw(file, plan_labyrinth(file))


class Watched:
    """The filter of a law, with true measurements too: what a fault adds."""

    def __init__(self, law, monkeypatch):
        self.filter, self.window, self.knowable = law.state, [], None
        self.true = self.filter.start()
        self.seen = []
        monkeypatch.setattr(measured_state, 'step', self._step)

    def _step(self, source, memory, sample, t):
        self.seen.append(sample)
        return step(source, memory, sample, t)

    def compare(self, place, sent, t):
        """Note what the fault did since the window began, given the true place."""
        given = self.seen.pop()
        known, _ = self.filter.step(self.true, [*place, np.nan], t)
        self.true = known._replace(sent=sent)
        true = self.seen.pop()
        if given.innovation.size != true.innovation.size or self.knowable is not None:
            return
        caused = given.innovation - true.innovation
        caused = float(caused @ (caused / true.covariance))
        self.window = [row for row in self.window if row[0] > t - 0.1]
        self.window.append((t, caused, given.innovation.size))
        degrees = sum(n for _, _, n in self.window)
        repeated = np.array_equal(given.content, self.before) and t > BEGIN
        off = abs(given.position).max() > 1.0
        total = sum(s for _, s, _ in self.window)
        if repeated or off or (degrees and total >= noncentrality(degrees)):
            self.knowable = t


class Attacked:
    """A run that can be stopped before a fault and gone on with."""

    def __init__(self, file, law, seed, monkeypatch, goal=(0.02, -0.02), ball=(-0.02, 0.01)):
        self.file, self.period, self.goal, self.tick = file, law.period, goal, 0
        self.plant, self.watcher = emulated_rig(file, seed), supervised(file, law)
        self.memory = self.watcher.start()
        self.watched, self.rng = (
            Watched(self.watcher, monkeypatch),
            np.random.default_rng([seed, 5]),
        )
        self.last, self.number, self.watched.before = None, 0, None
        begin(self.plant, file, ball)

    def advance(self, until, fault=None):
        """Return from when on a fault was knowable, when the safe command was sent, and why."""
        file, plant, watched = self.file, self.plant, self.watched
        for k in range(self.tick, int(until / self.period)):
            self.tick = k + 1
            for frame in plant.advance(k * self.period + file.camera.delay):
                place = frame.value[:2]
                if frame.stamp >= BEGIN:
                    place = fault(self.number, place, self.last, self.rng)
                    self.number += 1
                elif np.isfinite(place).all():
                    self.last = place
                inputs = [*place, *self.goal]
                self.memory, u = self.watcher.step(self.memory, inputs, frame.stamp)
                watched.compare(frame.value[:2], self.memory.belief.sent, frame.stamp)
                watched.before = np.array(place)
                plant.send(file.command(plant.system, plant.p, u), frame.arrival)
                if self.memory.fault:
                    assert not u.any()
                    assert not self.watcher.step(self.memory, inputs, frame.stamp + 1e-9)[1].any()
                    return watched.knowable, frame.arrival, self.memory.fault
        return watched.knowable, None, ''


@pytest.mark.parametrize('done', FAULTS)
@pytest.mark.parametrize('machine', ['rig', 'labyrinth'])
def test_the_plate_is_levelled(machine, done, request, monkeypatch, fault_row):
    file, law = request.getfixturevalue(machine)
    start = (-0.02, 0.01) if machine == 'rig' else file.start(1)
    told = fault_row(f'{file.system}: {done}')
    run = Attacked(file, law, 1, monkeypatch, ball=start)
    knowable, ended, reason = run.advance(END, FAULTS[done])
    assert reason, 'not found'
    delay = file.camera.delay
    assert BEGIN <= knowable <= ended - delay <= knowable + WITHIN
    told(f'the plate is levelled: {reason}', ended - BEGIN)


@pytest.mark.slow
@pytest.mark.usefixtures('machine_code')
@pytest.mark.timeout(14_400)
def test_faults_of_a_thousand_seeds_end_in_time(rig, labyrinth, monkeypatch):
    for file, law, start in ((*rig, (-0.02, 0.01)), (*labyrinth, None)):
        ends = {done: [] for done in FAULTS}
        for seed in range(1000):
            ball = file.start(seed) if start is None else start
            with monkeypatch.context() as patch:
                run = Attacked(file, law, seed, patch, ball=ball)
                assert not run.advance(BEGIN)[2], seed
                for done, fault in FAULTS.items():
                    ends[done].append(branch(run.advance, END, fault)[:2])
        for done, runs in ends.items():
            known = [(begin, end) for begin, end in runs if begin is not None]
            late = sum(
                end is None or not end - file.camera.delay <= begin + WITHIN
                for begin, end in known
            )
            assert len(known) > 900, done
            assert late <= 0.01 * len(known), f'{done}: {late} of {len(known)} late'


def pushed(file, law, seed, duration, every=1.7):
    """Return why frames were not believed in a run with pushes, and how often it was pushed."""
    plant, watcher = emulated_rig(file, seed), supervised(file, law)
    memory = watcher.start()
    rng = np.random.default_rng([seed, 6])
    begin(plant, file, (0.01, 0.01))
    pushes, goal = 0, np.zeros(2)
    for k in range(int(duration / law.period)):
        for frame in plant.advance(k * law.period + file.camera.delay):
            memory, u = watcher.step(memory, [*frame.value[:2], *goal], frame.stamp)
            plant.send(file.command(plant.system, plant.p, u), frame.arrival)
        if plant.state.ended is None and k * law.period > (pushes + 1) * every:
            pushes, angle, x = pushes + 1, rng.uniform(0, 2 * np.pi), plant.state.x.copy()
            x[2:4] += PUSH * np.array([np.cos(angle), np.sin(angle)])
            plant.put(x)
            goal = rng.uniform(-0.03, 0.03, 2)
    return memory.fault, pushes


@pytest.mark.parametrize('law', ['pid', 'lqr'])
def test_no_alarm_in_trials_with_pushes(rig, law):
    file, _ = rig
    assert pushed(file, LAWS[law](RigModel.of(file)), 0, 5.5) == ('', 3)


@pytest.mark.slow
@pytest.mark.usefixtures('machine_code')
@pytest.mark.timeout(14_400)
def test_no_alarm_in_a_thousand_trials_with_pushes(rig, labyrinth):
    file, law = rig
    for seed in range(1000):
        fault, _ = pushed(file, law, seed, 10.0)
        assert not fault, seed
    file, law = labyrinth
    one = Trial(task=Through(law=law), criterion=Arrival())
    for record in run_trials(seeded(one, range(300))):
        assert record.ended.startswith('hole') or not record.ended, record.seed


@pytest.mark.slow
@pytest.mark.usefixtures('machine_code')
@pytest.mark.parametrize('seed', range(10))
def test_no_alarm_in_ten_simulated_hours(rig, seed):
    """No push: the ball follows set points over the plate, by the hour another plate."""
    file, law = rig
    goals = np.random.default_rng(seed).uniform(-0.05, 0.05, (1201, 2))
    assert not run_rig(file, law, lambda t: goals[int(t / 3)], 3600.0, seed=seed).memory.fault


def test_a_pause_of_frames_hides_neither_repetition_nor_a_fault(rig):
    """Pauses of ten frames and more, after which the filter begins again."""
    behind = supervised(*rig)
    memory, true = behind.start(), [0.02, 0.01, 0.0, 0.0]
    for k in range(3):
        given = [*(np.array(true[:2]) + 1e-4 * np.sin([k, 2 * k])), 0.0, 0.0]
        memory, counts = behind.step(memory, given, k * behind.period)
    assert counts.any()
    assert not memory.fault
    for k in (1, 2):
        memory, counts = behind.step(memory, given, 0.5 * k)
    assert 'samples are equal' in memory.fault
    memory, counts = behind.step(memory, true, 2.0)
    assert memory.fault
    assert not counts.any()


def test_the_supervisor_of_a_rig_knows_its_camera_its_plate_and_its_servos(rig):
    file, law = rig
    found, camera = supervised(file, law), file.camera.sensor()
    state, (source,) = found.state, found.state._sources.values()
    assert (source.name, source.noise) == ('the ball', file.camera.noise)
    assert source.period == 1 / camera.rate
    low, high = file.edges
    np.testing.assert_array_equal(source.low, low - file.ball.radius)
    np.testing.assert_array_equal(source.high, high + file.ball.radius)
    tangent = file.nominal().system_and_parameters()[0].tangent
    of = {name: tangent.slice(name) for name in ('ball', 'ball_rate')}
    for spread in (state._spread, state._lost):
        np.testing.assert_allclose(spread[of['ball']], max(high - low))
        np.testing.assert_allclose(spread[of['ball_rate']], FASTEST)
    white, walk = file.unmodelled
    drifts = np.sqrt(np.diag(state._Q))
    np.testing.assert_allclose(drifts[of['ball_rate']], white)
    unknown = np.full(2, UNLEVEL * file.gravity)  # of the ball along x and y
    np.testing.assert_allclose(state._spread[tangent.size :], unknown, strict=True)
    np.testing.assert_allclose(drifts[tangent.size :], np.full(2, walk), strict=True)
    np.testing.assert_array_equal(state._B[of['ball_rate']], np.eye(2))
    assert found._latency == camera.delay + file.servo.dead_time > camera.delay
    assert found._greatest == file.greatest / file.count


def test_a_law_behind_its_supervisor_is_one_function_while_frames_are_believed(rig):
    file, law = rig
    behind, rng = supervised(file, law), np.random.default_rng(2)
    one, memory = behind.as_function(), behind.start()
    z, answers = one.memory, []
    for k in range(12):
        given = [*(0.01 + 2e-4 * rng.normal(size=2)), 0.0, 0.005]
        memory, counts = behind.step(memory, given, k * law.period)
        out = np.array(one.function(z, given, k * law.period, one.given(0.0))).ravel()
        z = out[: z.size]
        np.testing.assert_allclose(out[z.size :], counts, rtol=1e-9)
        answers.append(counts)
    assert not memory.fault
    assert np.ptp(answers, axis=0).min() > 20


def test_a_run_of_a_rig_is_that_of_its_seed(rig):
    """Noise and maps are drawn by it; 0 is the default."""
    file, law = rig
    asked = []

    def still(t):
        asked.append(t)
        return np.zeros(2)

    runs = [run_rig(file, law, still, 0.4, *seed, ball=(0.02, 0.01)) for seed in ((), (0,), (1,))]
    assert asked[0] == file.camera.delay  # when the first frame is there
    assert (runs[0].states == runs[1].states).all()
    assert abs(runs[0].states - runs[2].states).max() > 1e-6


def test_a_camera_without_noise_is_believed_and_what_never_changes_says_nothing(rig):
    """Its frames count by a millionth of a metre; the height over the plate is no measurement."""
    file, _ = rig
    camera = file.camera.model_copy(update={'noise': 0.0}).sensor()
    system, p = file.nominal().system_and_parameters()
    sources = {camera.name: measured_state.sensor_source(camera)}
    start = np.zeros(system.state.size)
    state = measured_state.SensorFilter(system, p, [camera], start, start=0.1, sources=sources)
    place, belief = np.array([0.02, -0.01]), state.start()
    for t, height in ((0.0, file.ball.radius), (0.01, 1.0), (0.01, np.nan)):  # the last twice
        belief, _ = state.step(belief, [*place, height], t)
        np.testing.assert_allclose(belief.x[:2], place, atol=measured_state.EXACT)
        assert (belief.verdict.possible, belief.verdict.limited) == (True, False)
        assert belief.memories[camera.name].squares[-1][2] == 2  # numbers that were compared
    # the mean of two
    assert np.sqrt(belief.P[0, 0]) == pytest.approx(measured_state.EXACT / np.sqrt(2), rel=1e-2)
