"""Linear algebra in one thread: unless the user says otherwise, and in commands' processes."""

import os
import subprocess
import sys

from rolling_dynamics.one_thread import NAMES, one_thread


def test_what_the_user_has_said_stays():
    environment = {NAMES[0]: '3'}
    one_thread(environment)
    assert environment == {NAMES[0]: '3', **dict.fromkeys(NAMES[1:], '1')}


def test_a_command_has_it_before_numpy_is_imported():
    code = (
        'import sys, os\n'
        'from rolling_robotics import cli\n'
        'assert "numpy" not in sys.modules\n'
        'cli.main([])\n'
        f'assert [os.environ[n] for n in {NAMES!r}] == ["1"] * {len(NAMES)}\n'
    )
    clean = {k: v for k, v in os.environ.items() if k not in NAMES}
    subprocess.run([sys.executable, '-c', code], env=clean, check=True, capture_output=True)
