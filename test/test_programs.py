"""Programs of examples/programs, one a machine: what each prints is true."""

from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = sorted((ROOT / 'examples/programs').glob('*.py'))
NUMBER = r'(-?\d+\.?\d*(?:e[-+]\d+)?)'
# program: pattern of a number that it prints, and least and greatest value
PRINTED = {
    'ball_balancer': (f'{NUMBER} mm from', 0.0, 3.0),
    'ball_on_plate': (f'feedback: {NUMBER} mm', 0.0, 1.0),
    'ball_with_masses': (f'needed: {NUMBER}', 0.19, 0.192),
    'bicycle': (f'{NUMBER} m/s: stable', 4.292, 6.024),  # Meijaard et al., Table 2
    'fingertips': (f'of {NUMBER} speeds 3 are free', 8, 8),
    'hamster_ball': (f'rolled {NUMBER} m, cart turns at -?0.000', 0.08, 0.081),
    'pendulum_sphere': (f'{NUMBER} swings', 14, 14),
    'spin_rolling_sphere': (f'goal: {NUMBER}', 0.0, 1e-12),
    'spinning_plate': (f'plate: {NUMBER}', 2 / 7 - 1e-9, 2 / 7 + 1e-9),
    'tossed_ball': (rf'stick +height {NUMBER}', 0.02, 0.02),
    'two_wheeler': (f's: {NUMBER} degrees', -0.3, 0.3),
}


def test_every_program_is_checked_and_fits_on_a_screen():
    assert [path.stem for path in PROGRAMS] == sorted(PRINTED)
    for path in PROGRAMS:
        assert 10 <= len(path.read_text().splitlines()) <= 40, path.name


@pytest.mark.parametrize(
    'program',
    [
        p if p in {'spinning_plate', 'fingertips'} else pytest.param(p, marks=pytest.mark.slow)
        for p in PRINTED
    ],
)
def test_a_program_prints_what_is_true(program, tmp_path):
    path = ROOT / f'examples/programs/{program}.py'
    command = [sys.executable, str(path)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=250
    )
    assert (done.returncode, done.stderr) == (0, '')
    pattern, low, high = PRINTED[program]
    numbers = [float(found[1]) for found in re.finditer(pattern, done.stdout)]
    assert numbers, done.stdout
    assert all(low <= number <= high for number in numbers), numbers
