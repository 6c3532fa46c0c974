"""One trial of an experiment on the emulated hardware, and many over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
import multiprocessing
import os
from typing import Any, NamedTuple

import numpy as np
from rolling_controller.laboratory.laws import Adaptive
from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.planar_rolling import STATE
from rolling_hw_interface.emulated_plant import PlantView
from rolling_robotics.trials.chain import LaboratoryChain, Observation, PERIOD
from rolling_robotics.trials.experiment import Experiment
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import Judge
from rolling_robotics.trials.prepare import build

EVERY = 10  # periods between two samples that are kept
HAND, OBJECT = (STATE.slice(name).start for name in ('beta_WH', 'beta_HO'))


@dataclass(frozen=True, eq=False, kw_only=True)
class Trial:
    """
    What happened.

    Attributes
    ----------
    law, seed
        In which way, with which imperfections.
    times
        From the release of the object on [s], shape (k,).
    states, estimates
        True and estimated states of planar rolling, shape (k, 9); no numbers where there was no
        estimate.
    controls
        Commands, shape (k, 3).
    events
        What happened to the contact, with its time [s].
    limited
        Periods in which a limit of the joints changed a command.
    failure
        Why it did not succeed; empty if it did.
    poses
        True hand and object in the world, q (w, x, y, z) and p [m], shape (k, 2, 7).

    """

    law: str
    seed: int
    times: Array
    states: Array
    estimates: Array
    controls: Array
    events: tuple[tuple[float, str], ...]
    limited: int
    failure: str
    poses: Array = field(default_factory=lambda: np.zeros((0, 2, 7)))

    @property
    def angles(self) -> Array:
        """Turn of the object in the world [rad], shape (k,)."""
        return np.asarray(self.states[:, HAND] + self.states[:, OBJECT])


class Moment(NamedTuple):
    """
    One period of a trial.

    Attributes
    ----------
    time
        At its start, from the release of the object on [s].
    held
        Whether the object is held.
    view, truth, plant
        What was true then: of all, of planar rolling, shape (9,), and of the hybrid plant.
    seen
        What the estimator told then, shape (9,), or None.
    sent
        The command that answered it, shape (3,), or None.
    control
        Accelerations that the hand had in the period, shape (3,).
    events
        What happened to the contact in it.
    angle
        Turn of the object in the world at its end [rad].
    clipped
        Periods so far in which a limit of the joints changed a command.

    """

    time: float
    held: bool
    view: PlantView
    truth: Array
    plant: Array
    seen: Array | None
    sent: Array | None
    control: Array
    events: tuple[str, ...]
    angle: float
    clipped: int


def moments(
    experiment: Experiment,
    law_name: str,
    seed: int,
    imperfections: Imperfections,
    *,
    exact: bool = False,
) -> Iterator[Moment]:
    """
    Carry out a trial, period by period, the warm-up first; arguments as of :func:`run_trial`.

    It goes on to its end, whatever happens. Where ``exact``, the law is given the true state and
    inertia in place of what the estimator tells.
    """
    place = experiment.laboratory, experiment.start
    chain = LaboratoryChain(*place, imperfections, seed, experiment.arm)
    law, truth = experiment.laws[law_name](), chain.truth
    first = -round(imperfections.warm_up / PERIOD)
    for k in range(first, round(experiment.duration / PERIOD)):
        t, held, view, plant = k * PERIOD, k < 0, chain.view, chain.plant.state.x
        chain.plant.held = held
        seen, sent = chain.sense(), None
        if exact:
            seen = Observation(truth, touching=True, inertia=chain.draw.inertia)
        if held:
            sent = np.zeros(3)
        elif seen is not None:
            if isinstance(law, Adaptive):
                law.know(seen.inertia)
            sent = law.command(t, seen.x, touching=seen.touching).copy()
        chain.act(sent)
        before, truth = truth, chain.truth
        yield Moment(
            time=t,
            held=held,
            view=view,
            truth=before,
            plant=plant,
            seen=None if seen is None else seen.x,
            sent=sent,
            control=chain.plant.control,
            events=chain.plant.events,
            angle=float(truth[HAND] + truth[OBJECT]),
            clipped=chain.bridge.clipped,
        )


def run_trial(
    experiment: Experiment,
    law_name: str,
    seed: int,
    imperfections: Imperfections | None = None,
    *,
    to_the_end: bool = False,
    duration: float | None = None,
) -> Trial:
    """
    Run one trial.

    Parameters
    ----------
    experiment, law_name
        What is done, and in which way.
    seed
        Of the imperfections.
    imperfections
        Their sizes; those published if None.
    to_the_end
        Whether a trial goes on after it has failed.
    duration
        Of the trial [s]; that of the experiment if None.

    """
    imperfections = imperfections or Imperfections()
    experiment = replace(experiment, duration=duration or experiment.duration)
    judge, limited = Judge(experiment), 0
    nothing, samples, events, poses = np.full(STATE.size, np.nan), [], [], []
    for moment in moments(experiment, law_name, seed, imperfections):
        if moment.held:
            continue
        if round(moment.time / PERIOD) % EVERY == 0:
            seen = nothing if moment.seen is None else moment.seen
            sent = np.full(3, np.nan) if moment.sent is None else moment.sent
            samples.append((moment.time, moment.truth, seen, sent))
            poses.append((moment.view.hand[:7], moment.view.object_[:7]))
        limited, t = moment.clipped, moment.time + PERIOD
        events += [(moment.time, name) for name in moment.events]
        judge.happened(t, *moment.events)
        judge.look(t, moment.angle)
        if judge.failure and not to_the_end:
            break
    judge.close()
    times, states, estimates, controls = (np.array(c) for c in zip(*samples, strict=True))
    return Trial(
        law=law_name,
        seed=seed,
        times=times,
        states=states,
        estimates=estimates,
        controls=controls,
        events=tuple(events),
        limited=limited,
        failure=judge.failure,
        poses=np.array(poses),
    )


def run_many(
    name: str,
    laws: Iterable[str],
    seeds: Iterable[int],
    imperfections: Imperfections | None = None,
    *,
    to_the_end: bool = False,
    duration: float | None = None,
    workers: int | None = None,
) -> Iterator[Trial]:
    """
    Run trials, in as many processes as there are processors.

    Parameters
    ----------
    name, laws
        Which experiment, and in which ways; see :func:`build`.
    seeds
        Of the trials of each law.
    imperfections, to_the_end, duration
        As of :func:`run_trial`.
    workers
        Number of processes; 1 runs everything in this one.

    Yields
    ------
    Trial
        Law by law, in the order of the seeds.

    """
    workers = workers or len(os.sched_getaffinity(0))
    imperfections, seeds = imperfections or Imperfections(), tuple(seeds)
    options = {'to_the_end': to_the_end, 'duration': duration}
    jobs = [(law, seed, imperfections, options) for law in laws for seed in seeds]
    if workers == 1:
        _begin(name)
        yield from map(_one, jobs)
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context('spawn'), initializer=_begin, initargs=(name,)
    )
    try:
        yield from pool.map(_one, jobs)
    finally:  # whoever wants no more trials does not wait for those that have not begun
        pool.shutdown(cancel_futures=True)


_built: dict[str, Experiment] = {}  # of this process


def _begin(name: str) -> None:
    if name not in _built:
        _built.clear()
        _built[name] = build(name)


def _one(job: tuple[str, int, Imperfections, dict[str, Any]]) -> Trial:
    (experiment,) = _built.values()
    law, seed, imperfections, options = job
    return run_trial(experiment, law, seed, imperfections, **options)
