"""The client of the nodes, before nodes that do not answer at once."""

import pytest
from rclpy.task import Future
from rolling_robotics.nodes import client as module
from rolling_robotics.nodes.client import Client, ClientError


class Server:
    """Stands for an action client whose server drops the first goals."""

    def __init__(self, drops):
        self.drops, self.asked = drops, 0

    def send_goal_async(self, goal, _take):
        self.asked += 1
        answer = Future()
        if self.asked > self.drops:
            answer.set_result((goal, self.asked))
        return answer


@pytest.fixture
def client(domain, monkeypatch):
    monkeypatch.setattr(module, 'AGAIN', 0.05)
    with Client(domain=domain) as made:
        yield made


@pytest.mark.parametrize('drops', [0, 2])
def test_goal_without_an_answer_is_sent_again(client, drops):
    server = Server(drops)
    answer = client._answered('no answer', server.send_goal_async, 'goal', None)
    assert answer == ('goal', drops + 1)


def test_server_that_never_answers_is_named(client, monkeypatch):
    monkeypatch.setattr(module, 'SHORT', 0.3)
    with pytest.raises(ClientError, match=r'no answer within 0\.3 s'):
        client._answered('no answer', Server(10**6).send_goal_async, 'goal', None)
