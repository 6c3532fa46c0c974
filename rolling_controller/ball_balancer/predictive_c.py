"""The predictive law of a rig as C: the functions about its programs, and how those are solved."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_controller.ball_balancer.predictive import (
    ASKED,
    AxisProgram,
    FRAMES,
    HALVINGS,
    joined,
    PLAN,
    PredictiveRigLaw,
    SLACK,
    TILT_RATE,
    TILTED,
)
from rolling_controller.export.c import (
    CSource,
    header,
    number,
    operations,
    source,
    straight,
    table,
)
from rolling_controller.export.least_distance import LeastDistance


def predictive_as_c(law: PredictiveRigLaw) -> CSource:
    """Return the law as C."""
    program = AxisProgram(law.rig)
    limited = np.vstack([np.eye(FRAMES), program.limited])
    nearest = LeastDistance.of(program.H, limited)
    columns = [program.without_control(asked) for asked in np.eye(ASKED)]
    start = nearest.start(np.column_stack([f for _, f, _ in columns]))
    drift = np.column_stack([drift for *_, drift in columns])
    before, after, halved = (joined(f) for f in (law.before, law.after, law.halved))
    functions = nearest.text() + table('starts', start) + table('drifts', drift)
    functions += _problem(law) + _straight_functions(law, before, after, halved)
    each = 2 * start.size + 2 * drift.size + nearest.operations + HALVINGS * operations(halved)
    # of all functions together, as a compiler may put them into one
    numbers = 3 * limited.shape[0] + nearest.work + 2 * (ASKED + 2)
    return CSource(
        law.name,
        header(law),
        source(law, functions, STEP),
        operations(before) + operations(after) + 2 * each,
        numbers + 2 * law.state.size + sum(f.sz_w() for f in (before, after, halved)),
        law,
    )


def _straight_functions(
    law: PredictiveRigLaw, before: ca.Function, after: ca.Function, halved: ca.Function
) -> str:
    """Return the functions about the programs."""
    was, state = ([f'{at}{n}' for n in law.state.names] for at in ('was.', 'state->'))
    names = ('place', 'goal', 'wanted', 'output')
    place, goal, wanted, output = ([f'{name}[{k}]' for k in range(2)] for name in names)
    answer = ['*answer', *(f'asked[{k}]' for k in range(2 * ASKED))]
    ends = ['*low', '*high']
    copy = f'  const {law.name}_state was = *state;\n'
    return f"""
static void before({law.name}_state *state, const REAL *place, REAL seen, const REAL *goal,
                   REAL *answer, REAL *asked) {{
{copy}{straight(before, [was, place, ['seen'], goal], [*state, *answer])}
}}

static void after({law.name}_state *state, const REAL *place, REAL seen, REAL answer,
                  const REAL *wanted, REAL *output) {{
{copy}{straight(after, [was, place, ['seen'], ['answer'], wanted], [*state, *output])}
}}

static void halve(REAL tilt, REAL tilt_rate, REAL wanted, REAL *low, REAL *high) {{
{straight(halved, [['tilt'], ['tilt_rate'], ['wanted'], ['*low'], ['*high']], ends)}
}}

/* The command that takes a servo to the tilt planned for a frame later. */
static REAL commanded(const REAL *asked) {{
  const REAL wanted = planned(asked);
  REAL low = {number(-law.rig.reach)}, high = {number(law.rig.reach)};
  int k;
  for (k = 0; k < {HALVINGS}; ++k) {{
    halve(asked[{TILTED}], asked[{TILT_RATE}], wanted, &low, &high);
  }}
  return (low + high) / 2;
}}
"""


def _problem(law: PredictiveRigLaw) -> str:
    """Return what states the program of an axis, and its solution."""
    rig = law.rig
    return f"""
static REAL magnitude(REAL value) {{ return value < 0 ? -value : value; }}

/* The program of an axis: what the rows are without limits, and their limits. */
static void problem(const REAL *given, REAL *value, REAL *low, REAL *high) {{
  const REAL fastest = {number(rig.speed)}, reach = {number(rig.reach)};
  REAL asked[{ASKED}], stops;
  int k;
  for (k = 0; k < {ASKED}; ++k) {{
    asked[k] = given[k];
  }}
  asked[{TILT_RATE}] = asked[{TILT_RATE}] > fastest ? fastest : asked[{TILT_RATE}];
  asked[{TILT_RATE}] = asked[{TILT_RATE}] < -fastest ? -fastest : asked[{TILT_RATE}];
  stops = magnitude(asked[{TILT_RATE}]) / {number(2 * rig.acceleration)} + {number(rig.period)};
  stops = magnitude(asked[{TILTED}] + asked[{TILT_RATE}] * stops);
  stops = stops > reach ? stops : reach;
  for (k = 0; k < ROWS; ++k) {{
    value[k] = dot(starts[k], asked, {ASKED});
  }}
  for (k = 0; k < UNKNOWNS; ++k) {{
    high[k] = 1 / scale[k];
    low[k] = -high[k];
  }}
  for (k = UNKNOWNS; k < ROWS; ++k) {{
    const REAL drift = dot(drifts[k - UNKNOWNS], asked, {ASKED});
    const REAL most = (k < 2 * UNKNOWNS ? fastest : stops) + {number(SLACK)};
    high[k] = (most - drift) / scale[k];
    low[k] = (-most - drift) / scale[k];
  }}
}}

/* The tilt planned for a frame later; without a solution the servo goes on as it is. */
static REAL planned(const REAL *asked) {{
  REAL value[ROWS], low[ROWS], high[ROWS], middle;
  const int first = 2 * UNKNOWNS;
  problem(asked, value, low, high);
  if (nearest(value, low, high) < 0) {{
    value[first] = 0;
  }}
  middle = (low[first] + high[first]) / 2;
  return (value[first] - middle) * scale[first];
}}
"""


STEP = f"""\
  REAL wanted[2] = {{0, 0}}, asked[{2 * ASKED}], answer;
  before(state, place, seen, goal, &answer, asked);
  for (k = 0; k < 2 && answer == {PLAN:.0f}; ++k) {{
    wanted[k] = commanded(asked + {ASKED} * k);
  }}
  after(state, place, seen, answer, wanted, output);"""
