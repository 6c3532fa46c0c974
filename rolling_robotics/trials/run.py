"""One trial of an experiment on the emulated hardware, and many over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
import multiprocessing
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.hybrid_contact.planar_rolling import STATE
from rolling_robotics.trials.chain import LaboratoryChain, PERIOD
from rolling_robotics.trials.experiment import Experiment
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import Judge
from rolling_robotics.trials.prepare import build

Array = NDArray[np.float64]
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
    place = experiment.laboratory, experiment.start
    chain = LaboratoryChain(*place, imperfections, seed, experiment.arm)
    law, judge = experiment.laws[law_name](), Judge(experiment)
    for _ in range(round(imperfections.warm_up / PERIOD)):
        chain.sense()
        chain.act(np.zeros(3))
    chain.plant.held = False
    nothing, samples, events, poses = np.full(STATE.size, np.nan), [], [], []
    for k in range(round(experiment.duration / PERIOD)):
        t, seen = k * PERIOD, chain.sense()
        u = None if seen is None else law.command(t, seen.x, touching=seen.touching)
        if k % EVERY == 0:
            sent = np.full(3, np.nan) if u is None else u.copy()
            samples.append((t, chain.truth, nothing if seen is None else seen.x, sent))
            poses.append((chain.view.hand[:7], chain.view.object_[:7]))
        chain.act(u)
        truth = chain.truth
        happened = chain.plant.events
        events += [(t, name) for name in happened]
        judge.happened(t + PERIOD, *happened)
        judge.look(t + PERIOD, float(truth[HAND] + truth[OBJECT]))
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
        limited=chain.bridge.clipped,
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
