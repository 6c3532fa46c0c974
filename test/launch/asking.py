"""Warnings of nodes in normal use: only those that ask a user to do something."""

ASKING = (
    'security is off (ROS_SECURITY_ENABLE is not "true"): ',
    'nothing moves until ~/reset: ',
)


def assert_nothing_else_warned(logs):
    """Assert that the logs of nodes, files in a folder, have warnings of :data:`ASKING` alone."""
    files = sorted(logs.glob('*.log'))
    assert files, f'no logs in {logs}'
    lines = [line for file in files for line in file.read_text().splitlines()]
    loud = [line for line in lines if line.startswith(('[WARN]', '[ERROR]', '[FATAL]'))]
    loud += [line for line in lines if 'Warning: ' in line]
    assert [line for line in loud if not any(text in line for text in ASKING)] == []
