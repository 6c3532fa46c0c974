"""Generated C under the sanitizers of addresses and of undefined behaviour."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

GCC = shutil.which('gcc')
PROGRAM = Path(__file__).with_name('under_sanitizers.py')
CHECKS = '-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -g'
CASES = [
    ('steps', 'ball_tossed_by_plate'),
    ('steps', 'labyrinth'),
    ('steps', 'pendulum_slope'),
    ('steps', 'point_mass_hop'),
    ('steps', 'spin_rolling_ball'),
    ('batches', 'ball_tossed_by_plate'),
    ('batches', 'point_mass_disk'),
    ('emulations', 'two_wheeler'),
    ('filters', 'two_wheeler'),
    ('hands', 'damping'),
    ('plans', 'ball_on_plate_straight'),
    ('plans', 'point_mass_straight'),
    ('fits', 'pendulum_torque'),
    ('laws', 'point_mass_disk'),
]
SHORT = ('steps', 'spin_rolling_ball')
# CasADi loads its parts with a flag under which the checks could not see them
LOADER = """
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *name, int flags) {
  void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return next(name, flags & ~RTLD_DEEPBIND);
}
"""


def library(name):
    found = subprocess.run(
        [GCC, f'-print-file-name={name}'], capture_output=True, text=True, check=True
    ).stdout.strip()
    return found if Path(found).is_absolute() else ''


pytestmark = pytest.mark.skipif(
    GCC is None or not library('libasan.so'), reason='gcc with its sanitizers is needed'
)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a part in a process whose compiler adds the checks."""
    compiler = tmp_path / 'checked_gcc'
    # as it stands: what the optimiser leaves out is not checked, and takes most of the time
    compiler.write_text(f'#!/bin/sh\nexec {GCC} {CHECKS} "$@" -O0\n')
    compiler.chmod(0o700)
    loader = tmp_path / 'loader.so'
    command = [GCC, '-shared', '-fPIC', '-x', 'c', '-', '-o', str(loader)]
    subprocess.run(command, input=LOADER, text=True, check=True)
    environment = {
        **os.environ,
        'CC': str(compiler),
        'ROLLING_COMPILE': 'now',
        'ROLLING_CACHE_DIR': str(tmp_path / 'cache'),
        'LD_PRELOAD': f'{loader} {library("libasan.so")}',
        # Python keeps what it has until it ends; other libraries were built without checks
        'ASAN_OPTIONS': 'detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0:'
        'verify_asan_link_order=0',
        'UBSAN_OPTIONS': 'print_stacktrace=1',
    }

    def run(part, name):
        return subprocess.run(
            [sys.executable, str(PROGRAM), part, name],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=1500,
        )

    return run


@pytest.mark.parametrize(
    ('part', 'name'),
    [pytest.param(*c, marks=() if c == SHORT else pytest.mark.slow) for c in CASES],
)
def test_generated_code_stays_within_its_arrays(run, part, name, tmp_path):
    done = run(part, name)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((tmp_path / 'cache').glob('*.so')), 'nothing was compiled'


@pytest.mark.parametrize(
    ('name', 'report'), [('address', 'heap-buffer-overflow'), ('shift', 'shift exponent 64')]
)
def test_wrong_code_is_found(run, name, report):
    done = run('broken', name)
    assert done.returncode != 0
    assert report in done.stderr
