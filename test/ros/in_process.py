"""A node in the process of a test."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import threading

import rclpy
from rclpy.executors import SingleThreadedExecutor

LONG = 60.0


@contextmanager
def in_process(domain: int, make: Callable, parameters: Mapping) -> Iterator:
    """Make a node with parameters, and spin it in a thread until it is no longer needed."""
    texts = [f'{name}:={_text(value)}' for name, value in parameters.items()]
    rclpy.init(domain_id=domain, args=['--ros-args', *(a for text in texts for a in ('-p', text))])
    made, executor, stop = make(), SingleThreadedExecutor(), threading.Event()
    executor.add_node(made)

    def work():
        made.start()
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield made
    finally:  # a test may fail in here
        stop.set()
        thread.join(LONG)
        made.make_safe()
        executor.shutdown()
        made.release()
        made.destroy_node()
        rclpy.shutdown()


def _text(value):
    """Return a value as it is written on a command line of ROS."""
    return str(value).lower() if isinstance(value, bool) else str(value)
