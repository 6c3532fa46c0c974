"""Plans are found by machine code."""

import pytest


@pytest.fixture(autouse=True, scope='session')
def _compiled(shooting_compiled):
    pass
