"""Balance in space on a UR5e, through ROS: the demonstration with its own verdicts."""

import pytest
from rolling_robotics.cli import main


@pytest.mark.slow  # eight nodes in lockstep, four trials of seconds
def test_three_of_three_are_balanced_and_the_joints_keep_their_limits(tmp_path, capsys):
    arguments = ['--hardware', 'emulated', '--trials', '3', '--simulated-time']
    assert main(['demo', 'balance_3d', *arguments, '--out', str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert 'closed_loop' in said
    assert said.count(': success;') == 3
    assert 'limits of the joints, at most:' in said
