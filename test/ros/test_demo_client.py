"""The client of a demonstration, before nodes that do not answer at once."""

import pytest
from rclpy.task import Future
from rolling_robotics.nodes import demo_client
from rolling_robotics.nodes.demo_client import ClientError, DemoClient


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
    monkeypatch.setattr(demo_client, 'AGAIN', 0.05)
    with DemoClient(domain=domain) as made:
        yield made


@pytest.mark.parametrize('drops', [0, 2])
def test_goal_without_an_answer_is_sent_again(client, drops):
    server = Server(drops)
    answer = client._answered('no answer', server.send_goal_async, 'goal', None)
    assert answer == ('goal', drops + 1)


def test_server_that_never_answers_is_named(client, monkeypatch):
    monkeypatch.setattr(demo_client, 'SHORT', 0.3)
    with pytest.raises(ClientError, match=r'no answer within 0\.3 s'):
        client._answered('no answer', Server(10**6).send_goal_async, 'goal', None)
