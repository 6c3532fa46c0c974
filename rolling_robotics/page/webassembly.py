"""CasADi functions as WebAssembly: the C of the cache of machine code, by the compiler of Zig."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Any

import casadi as ca
from rolling_controller.export.c import CSource
from rolling_dynamics.compiled.source import c_source
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need

# Without a C library: compiling a whole one would take half a minute the first time.
TARGET = ('-target', 'wasm32-wasi', '-fno-entry', '-fstrip', '-O', 'ReleaseFast')
C_OPTIONS = (
    *('-Os', '-ffp-contract=off', '-fno-math-errno', '-fbuiltin', '-w'),
    *('-Dcasadi_real=double', '-Dcasadi_int=int'),
)
# Functions of math.h that the compiler's own run-time library lacks, from Zig's library.
ONE = ('asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'expm1', 'log1p')
LIBRARY = '\n'.join(
    (
        'const m = @import("std").math;',
        *(f'export fn {f}(x: f64) f64 {{ return m.{f}(x); }}' for f in ONE),
        *(
            f'export fn {f}(x: f64, y: f64) f64 {{ return m.{f}(x, y); }}'
            for f in ('atan2', 'hypot')
        ),
        'export fn pow(x: f64, y: f64) f64 { return m.pow(f64, x, y); }',
    )
)

EXPORTED = '#define EXPORTED(name) __attribute__((export_name(name)))\n'


def webassembly(
    functions: Mapping[str, ca.Function],
    law: CSource | None = None,
    steps: Mapping[int, int] | None = None,
) -> tuple[bytes, dict[str, Any]]:
    """
    Return functions as one module, and how to call each.

    Parameters
    ----------
    functions
        Name of each function in the page, and the function.
    law
        A law, whose own C is compiled with them.
    steps
        Number of a mode -> number of watched values behind the state: ``step_K`` is repeated in C.

    Returns
    -------
    module, table
        For each name, the sizes of each input and each output. The module exports ``in_NAME()``
        and ``out_NAME()``, the addresses of these one after another, and ``run_NAME()``;
        ``go_K(end, steps, controlled)`` takes steps until one falls below ``least_K()``, and
        returns their number; of the law ``law_z()``, ``law_i()``, ``law_o()``, ``law_begin()`` and
        ``law_run()``.

    Raises
    ------
    ParameterError
        The compiler is missing, or an equation calls back into Python.

    """
    need('page', 'ziglang')
    for what, f in functions.items():
        if 'Callback' in f.class_name() or any(
            'Callback' in g.class_name() for g in f.find_functions()
        ):
            raise ParameterError(
                f'page: {what} calls back into Python ({f.name()}), which has no C; '
                'write it as a CasADi expression'
            )
    renamed = {n: _renamed(f, n) for n, f in functions.items()}
    source = c_source(list(renamed.values())) + ''.join(map(_entry, renamed.values()))
    source += ''.join(_repeated(k, n, renamed) for k, n in (steps or {}).items())
    table = {
        n: {
            'in': [f.numel_in(k) for k in range(f.n_in())],
            'out': [f.numel_out(k) for k in range(f.n_out())],
        }
        for n, f in renamed.items()
    }
    return _compiled(source, law), table


def _renamed(f: ca.Function, name: str) -> ca.Function:
    """Return a function under another name, with dense outputs."""
    given = [ca.MX.sym(f'i{k}', *f.size_in(k)) for k in range(f.n_in())]
    return ca.Function(name, given, [ca.densify(y) for y in f.call(given)])


def _entry(f: ca.Function) -> str:
    """Return C that calls a function on arrays of its own."""
    name = f.name()
    ends = [sum(f.numel_in(j) for j in range(k)) for k in range(f.n_in())]
    places = [sum(f.numel_out(j) for j in range(k)) for k in range(f.n_out())]
    return f"""
static double i_{name}[{sum(f.numel_in(k) for k in range(f.n_in())) + 1}];
static double o_{name}[{sum(f.numel_out(k) for k in range(f.n_out())) + 1}];
static double w_{name}[{f.sz_w() + 1}];
static casadi_int n_{name}[{f.sz_iw() + 1}];
EXPORTED("in_{name}") double *in_{name}(void) {{ return i_{name}; }}
EXPORTED("out_{name}") double *out_{name}(void) {{ return o_{name}; }}
EXPORTED("run_{name}") void run_{name}(void) {{
  const double *arg[{f.sz_arg() + 1}] = {{{', '.join(f'i_{name} + {k}' for k in ends)}}};
  double *res[{f.sz_res() + 1}] = {{{', '.join(f'o_{name} + {k}' for k in places)}}};
  {name}(arg, res, n_{name}, w_{name}, 0);
}}
"""


def _repeated(k: int, watched: int, functions: Mapping[str, ca.Function]) -> str:
    """Return C that repeats the step of a mode, under its control or the scenario's."""
    f, control = functions[f'step_{k}'], functions.get('control')
    n, m = f.numel_in(0), f.numel_in(1)
    controlled = (
        ''
        if control is None
        else f"""
    if (controlled) {{
      for (q = 0; q < {n}; ++q) i_control[q] = x[q];
      i_control[{n}] = *t;
      run_control();
      for (q = 0; q < {m}; ++q) u[q] = o_control[q];
    }}"""
    )
    return f"""
static double least_{k}[{watched + 1}];
EXPORTED("least_{k}") double *least_of_{k}(void) {{ return least_{k}; }}
EXPORTED("go_{k}") int go_{k}(double end, int steps, int controlled) {{
  double *x = i_step_{k}, *u = x + {n}, *t = u + {m}, *h = t + 1;
  const double *out = o_step_{k};
  int j, q;
  for (j = 0; j < steps; ++j) {{
    const double goal = j == steps - 1 ? end : *t + (end - *t) / (steps - j);{controlled}
    *h = goal - *t;
    run_step_{k}();
    for (q = 0; q < {watched}; ++q) if (!(out[{n} + q] >= least_{k}[q])) return j;
    for (q = 0; q < {n}; ++q) if (!(out[q] - out[q] == 0)) return j;
    for (q = 0; q < {n}; ++q) x[q] = out[q];
    *t = goal;
  }}
  return steps;
}}
"""


def _law_entry(law: CSource) -> str:
    """Return C that steps a law on a memory of its own."""
    name, given = law.name, law.law.measurement.size
    gains = f'EXPORTED("law_g") double *law_g(void) {{ return {name}_gains; }}\n'
    gains = gains if law.law.gains.size else ''
    return f"""
#include "{name}.h"
static {name}_state law_state;
static double law_given[{given + law.law.set_point.size}], law_output[{law.law.output.size}];
EXPORTED("law_z") double *law_z(void) {{ return (double *)&law_state; }}
EXPORTED("law_i") double *law_i(void) {{ return law_given; }}
{gains}EXPORTED("law_o") double *law_o(void) {{ return law_output; }}
EXPORTED("law_begin") void law_begin(void) {{ {name}_start(&law_state); }}
EXPORTED("law_run") void law_run(void) {{
  {name}_step(&law_state, law_given, law_given + {given}, law_output);
}}
"""


def _compiled(source: str, law: CSource | None) -> bytes:
    headers = files('ziglang') / 'lib' / 'libc' / 'include'
    with TemporaryDirectory() as folder:
        parts = [Path(folder) / 'step.c']
        if law is not None:
            source += _law_entry(law)
            parts += [path for path in law.write(Path(folder)) if path.suffix == '.c']
        parts[0].write_text(EXPORTED + source, encoding='utf-8')
        (Path(folder) / 'library.zig').write_text(LIBRARY, encoding='utf-8')
        command = [sys.executable, '-m', 'ziglang', 'build-exe', *TARGET, '-femit-bin=step.wasm']
        for name in ('wasm-wasi-musl', 'generic-musl'):
            command += ['-isystem', str(headers / name)]
        command += ['-cflags', *C_OPTIONS, '--', *(f.name for f in parts), 'library.zig']
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ParameterError(f'page: the equations do not compile: {done.stderr.strip()}')
        return (Path(folder) / 'step.wasm').read_bytes()
