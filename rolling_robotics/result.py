"""Results of simulations and plans, as result files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.contract.capabilities import FollowedQuantities, offers
from rolling_dynamics.contract.rolling_system import Follower
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import PiecewiseLinear
from rolling_dynamics.simulation.guards import in_mode
from rolling_dynamics.simulation.trajectory import Segment
from rolling_planner.planners.planner import Planned
from rolling_planner.refinement.rollout import Rollout
from rolling_robotics.arrays import common_arrays, entry_series, layout_series
from rolling_robotics.console import Progress, version


def simulation_result(scenario: Scenario, trajectory: Trajectory) -> dict[str, Any]:
    """
    Return the result of a simulation.

    Parameters
    ----------
    scenario
        The scenario.
    trajectory
        Its simulation.

    Returns
    -------
    dict
        Entries ``format``, ``scenario``, ``parameters``, ``events``, ``modes``, ``drift``,
        ``arrays``; further ones by the plug-in of the system.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import simulate_scenario, simulation_result
    >>> scenario = load_scenario('pendulum_slope')
    >>> result = simulation_result(scenario, simulate_scenario(scenario))
    >>> sorted(result)[:4]
    ['arrays', 'control_limits', 'description', 'drift']

    """
    result = {
        **heading('rolling/simulation', scenario),
        'duration': scenario.duration,
        'end': trajectory.segments[-1].end,
        'steps': trajectory.steps,
        'events': _events(trajectory),
        'guards': {name: scenario.events.get(name, 'stop') for name in _guards(scenario)},
        'modes': _modes(trajectory),
        'drift': {
            name: {'largest': d.largest, 'total': d.total} for name, d in trajectory.drift.items()
        },
        'arrays': arrays(scenario, trajectory),
    }
    report = role_of(scenario.system.name, 'report')
    return result | (report.entries(scenario, trajectory, result) if report else {})


def heading(kind: str, scenario: Scenario) -> dict[str, Any]:
    """Return the entries that identify the content of a file."""
    system = scenario.system
    layout = system.parameters
    return {
        'format': kind,
        'version': 1,
        'written_by': f'rolling_robotics {version()}',
        'name': scenario.name,
        'description': scenario.description,
        'system': system.name,
        'model_hash': system.model_hash,
        'scenario': scenario.raw,
        'control_limits': dict(zip(system.control.names, scenario.control_limits, strict=True)),
        'parameters': {
            e.name: entry_series(e, scenario.p[layout.slice(e.name)]).to_dict()
            for e in layout.entries
        },
    }


def arrays(scenario: Scenario, trajectory: Trajectory) -> dict[str, Any]:
    """Return every array of a trajectory, as plain data."""
    system: Any = scenario.system
    series = common_arrays(system, trajectory)
    own_arrays = role_of(system.name, 'arrays')
    if own_arrays is None:
        series |= layout_series(system.state, trajectory.states)
    else:
        series |= own_arrays(system, trajectory)
    return {name: s.to_dict() for name, s in series.items()}


def _events(trajectory: Trajectory) -> list[dict[str, Any]]:
    return [
        {'name': e.name, 'time': e.time, 'stops': e.terminal, 'text': e.text}
        for e in trajectory.events
    ]


def _guards(scenario: Scenario) -> list[str]:
    """Return the margins that the scenario watches; where modes follow from them, none."""
    if len(scenario.system.modes) > 1:
        return []
    return list(next(iter(scenario.system.modes.values())).guards)


def _modes(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the modes of motion, each with its start and end, in order of time."""
    out: list[dict[str, Any]] = []
    for segment in trajectory.segments:
        mode = next(iter(segment.system.modes))
        if out and out[-1]['mode'] == mode:
            out[-1]['end'] = segment.end
        else:
            out.append({'mode': mode, 'start': segment.start, 'end': segment.end})
    return out


def violations(result: dict[str, Any]) -> list[str]:
    """Return a sentence for each limit that a simulation broke."""
    return [*_broken_guards(result), *_other_ends(result), *_exceeded_limits(result)]


def _other_ends(result: dict[str, Any]) -> Iterator[str]:
    """Yield what ended a run and is not a margin that the scenario watches."""
    for event in result['events']:
        if event['stops'] and event['name'] not in result['guards']:
            what = f'{event["name"]}: {event["text"]} at t = {event["time"]:.9g} s'
            yield f'{what}; the simulation stopped there'


def _broken_guards(result: dict[str, Any]) -> Iterator[str]:
    times = np.asarray(result['arrays']['time']['values'])
    for name in result['guards']:
        values = np.asarray(result['arrays'][f'margin_{name}']['values'])
        first = next((e for e in result['events'] if e['name'] == name), None)
        if first is None and values.min() >= 0:
            continue
        when = float(times[np.argmax(values < 0)]) if first is None else first['time']
        end = '; the simulation stopped there' if first is not None and first['stops'] else ''
        meanings = MEANING if 'hand_position' in result['arrays'] else MEANING | OF_ROBOTS
        meaning = meanings.get(name, 'the margin falls through zero')
        yield f'{name}: {meaning} at t = {when:.9g} s{end}'


def _exceeded_limits(result: dict[str, Any]) -> Iterator[str]:
    times = np.asarray(result['arrays']['time']['values'])
    for name, limit in result['control_limits'].items():
        entry = next(a for a in result['arrays'].values() if name in a['components'])
        values = np.abs(np.asarray(entry['values'])[:, entry['components'].index(name)])
        over = values > limit * (1 + 1e-9)
        if over.any():
            when = float(times[int(np.argmax(over))])
            yield (
                f'limits: {name} exceeds {limit:g} {entry["unit"]} at t = {when:.9g} s, it '
                f'reaches {values.max():.6g}'
            )


MEANING = {
    'normal_force': 'the object lifts off the hand',
    'friction': 'the contact begins to slip',
    'spin': 'the contact begins to slip about its normal',
    'edge': 'the object reaches the edge of the hand',
    'relative_curvature': 'the bodies no longer touch in one point',
}
OF_ROBOTS = {'normal_force': 'the robot lifts off the floor'}


def summary(result: dict[str, Any]) -> str:
    """Return a few lines for people."""
    data = result['arrays']
    done = f'{result["end"]:g} of {result["duration"]:g} s simulated in {result["steps"]} steps'
    lines = [f'{result["name"]}: {done}']
    if 'f_contact' in data:
        normal = np.asarray(data['f_contact']['values'])[:, 2]
        lines.append(f'  normal force        {normal.min():.6g} to {normal.max():.6g} N')
    if 'mu_needed' in data:
        needed = np.asarray(data['mu_needed']['values'])
        needed = needed.astype(float)
        if np.isfinite(needed).any():
            when = float(np.asarray(data['time']['values'])[int(np.nanargmax(needed))])
            lines.append(f'  friction needed     {np.nanmax(needed):.6g} at t = {when:.6g} s')
    report = role_of(result['system'], 'report')
    lines += report.lines(result) if report else []
    if 'energy' in data:
        energy = np.asarray(data['energy']['values'])
        lines.append(f'  energy              {energy[0]:.9g} to {energy[-1]:.9g} J')
    for name, drift in result['drift'].items():
        lines.append(f'  drift of {name:<10} {drift["largest"]:.2g} at most, corrected')
    if len(result['modes']) > 1:
        spans = (f'{m["mode"]} to {m["end"]:.6g} s' for m in result['modes'])
        lines.append(f'  modes               {", ".join(spans)}')
    lines += [
        f'  event               {event["name"]} at t = {event["time"]:.9g} s'
        for event in result['events']
    ]
    return '\n'.join(lines)


def simulate_scenario(
    scenario: Scenario, progress: Progress | None = None, *, dense: bool = False
) -> Trajectory:
    """
    Return the motion that a scenario describes; ``dense``, to be asked for any time after.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import simulate_scenario
    >>> motion = simulate_scenario(load_scenario('pendulum_slope'))
    >>> motion.end, len(motion.events)
    (4.0, 0)

    """

    def on_progress(t: float) -> None:
        if progress is not None:
            progress.say(f't = {t:.3g} s', t / scenario.duration)

    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest,
        scenario.duration,
        t_eval=scenario.output_times,
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
        events=scenario.events,
        dense=dense,
        mode=scenario.mode,
        follower=follower_of(scenario),
        on_progress=on_progress,
    )


def start_result(scenario: Scenario) -> dict[str, Any]:
    """Return the result of a simulation of the first thousandth, for a picture of the start."""
    end = 1e-3 * scenario.duration
    brief = replace(scenario, duration=end, output_times=np.array([0.0, end]))
    return simulation_result(scenario, simulate_scenario(brief))


def follower_of(scenario: Scenario) -> Follower | None:
    """Return what follows quantities along the steps; None where the system has none."""
    followed = offers(scenario.system, FollowedQuantities)
    return None if followed is None else followed.follower(scenario.p)


SAMPLES = 400  # output times of the simulated plan


def simulated(planned: Planned) -> Trajectory:
    """Return the motion under a plan's controls or its feedback, from its start to its end."""
    scenario, plan = planned.scenario, planned.plan
    found = planned.under_feedback() if planned.under_feedback else None
    if found is not None:
        return _of_rollout(scenario, found)
    first = next(iter(scenario.system.modes.values()))
    ends = [guard for guard in first.guards if guard not in first.resets]
    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        plan.control_samples(),
        plan.duration,
        t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
        events=dict.fromkeys(ends, 'record'),
        follower=follower_of(scenario),
    )


def _of_rollout(scenario: Scenario, found: Rollout) -> Trajectory:
    """Return a motion under feedback, at the samples of its evaluation."""
    begin, end = float(found.times[0]), float(found.times[-1])
    system = in_mode(scenario.system, next(iter(scenario.system.modes)))
    return Trajectory(
        system=scenario.system,
        parameters=scenario.p,
        times=found.times,
        recorded=found.states,
        controls=found.controls,
        control=PiecewiseLinear(found.times, found.controls, scenario.system.control.size),
        segments=(
            Segment(system=system, parameters=scenario.p, start=begin, end=end, interpolate=None),
        ),
    )


def plan_result(planned: Planned) -> dict[str, Any]:
    """Return plan and simulation as a file holds them; the goal error is the simulation's."""
    plan, trajectory = planned.plan, simulated(planned)
    end = trajectory.states[-1]
    error = planned.goal_error(end)
    complete = bool(trajectory.times[-1] >= plan.duration * (1 - 1e-12))
    return {
        **heading('rolling/plan', planned.scenario),
        'reached': complete and error <= planned.tolerance,
        'goal_error': error,
        'goal_tolerance': planned.tolerance,
        **planned.entries(end),
        'duration': plan.duration,
        'end': float(trajectory.times[-1]),
        'events': _events(trajectory),
        'report': plan.report,
        'plan': plan.to_dict(),
        'arrays': arrays(planned.scenario, trajectory),
    }


def plan_summary(result: dict[str, Any], lines: Mapping[str, tuple[str, str]]) -> str:
    """Return a few lines for people."""
    report = result['report']
    head = 'reached' if result['reached'] else 'not reached'
    error, tolerance = result['goal_error'], result['goal_tolerance']
    text = [f'{result["name"]}: goal {head}, error {error:.3g} (tolerance {tolerance:g})']
    known = {**report, 'duration': result['duration']}
    text += [
        f'  {title:<19} {known[key]:{form}}'
        for key, (title, form) in lines.items()
        if key in known
    ]
    margins = report.get('least_margins', {})
    text += [f'  least {name:<13} {value:.4g}' for name, value in margins.items()]
    return '\n'.join(text)
