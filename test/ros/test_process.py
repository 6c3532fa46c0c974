"""The end of a node's process."""

import pytest
from rolling_dynamics.nodes import process


class Executor:
    def add_node(self, node):
        self.node = node

    def spin_once(self, timeout_sec):
        pass

    def shutdown(self, timeout_sec):
        pass


class Node:
    destroyed = False

    def __init__(self, answer):
        self.answer = answer

    def release(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def get_logger(self):
        return self

    def error(self, text):
        self.told = text

    def destroy_node(self):
        self.destroyed = True


@pytest.mark.parametrize(
    ('answer', 'destroyed'),
    [(None, True), (True, True), (False, False), (RuntimeError('the loop still runs'), False)],
)
def test_node_is_destroyed_only_after_everything_was_given_back(answer, destroyed):
    """A thread of its own that did not end in time may be in the midst of a call."""
    node, request = Node(answer), process.StopRequest()
    request.set()
    process._spin_and_stop(node, Executor(), request)
    assert node.destroyed == destroyed
    if isinstance(answer, Exception):
        assert 'the loop still runs' in node.told
