"""
The life of a node's process: start, spin, clean stop on SIGINT and SIGTERM.

The main thread only waits for a signal. A worker thread spins, so that a signal is never handled
inside a callback. The order at the end is safe command, executor, entities, node, context,
process.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
import contextlib
import gc
import os
import signal
import sys
import threading
import time

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rolling_dynamics.errors import described, printable, RollingError
from rolling_node_kit.signals import quiet_end

SPIN_TIMEOUT = 0.1  # longest wait inside one turn of the executor [s]
JOIN_TIMEOUT = 0.5  # longest wait for a callback to end when stopping [s]
SWITCH_INTERVAL = 1e-4  # between Python threads [s]: bounds the delay by a callback


def spin_until(executor: Executor, stop: threading.Event, node: Node) -> None:
    """
    Turn the executor until asked to stop; a callback that raises is logged and survived.

    Parameters
    ----------
    executor
        The executor, which has the node.
    stop
        Set by a signal, or here when the context is gone.
    node
        Whose logger is used.

    """
    while not stop.is_set():
        try:
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        except ExternalShutdownException:
            stop.set()
        except Exception as error:  # noqa: BLE001 - a bad request must not end the node
            if not rclpy.ok():
                stop.set()
                return
            text = printable(described(error))
            node.get_logger().error(f'a callback failed: {text}', throttle_duration_sec=1.0)
            time.sleep(0.001)


class StopRequest:
    """
    A request to stop, made by a signal or by a thread.

    The signal's number is written to a pipe at the level of C, in whichever thread the system
    chose for it. A ``threading.Event`` set in a Python handler would deadlock when a second signal
    interrupts it. It would never be set when a thread other than the main one got both.
    """

    def __init__(self) -> None:
        """Open the pipe."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def listen(self, *signals: int) -> None:
        """Have these signals ask to stop; only from the main thread."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in signals:
            signal.signal(number, lambda *_: None)

    def set(self) -> None:
        """Ask to stop, from any thread."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b'.')

    def wait(self) -> None:
        """Wait until asked."""
        os.read(self._reader, 1)


def run_node(
    factory: Callable[[], Node],
    args: Sequence[str] | None = None,
    make_executor: Callable[[], Executor] = SingleThreadedExecutor,
) -> int:
    """
    Run one node until SIGINT or SIGTERM.

    A node may have ``start()``, called first in the spinning thread, ``make_safe()``, called
    before the executor is shut down, and ``release()``, called after that; if that returns False,
    the node is left as it is.

    Parameters
    ----------
    factory
        Makes the node.
    args
        Command line, as ROS takes it; None for the process's.
    make_executor
        Makes the executor: the plain one for actions and services that wait, and few messages;
        ``EventsExecutor`` for many, without coroutines, for which that of Jazzy turns without
        pause.

    Returns
    -------
    int
        Exit status: 0 after a clean stop, 2 if ROS could not be started or the node not be made.

    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    request = StopRequest()
    request.listen(signal.SIGINT, signal.SIGTERM)
    try:
        rclpy.init(
            args=None if args is None else list(args),
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except rclpy_implementation.RCLError as error:  # as without the keys of its enclave
        print(f'ROS cannot be started: {printable(error)}', file=sys.stderr)  # noqa: T201
        return 2
    context = rclpy.get_default_context()
    status, destroyed = 2, True
    try:
        try:
            node = factory()
        except RollingError as error:
            print(f'{type(error).__name__}: {error}', file=sys.stderr)  # noqa: T201
        else:
            status, destroyed = 0, _spin_and_stop(node, make_executor(), request)
        gc.collect()  # objects of a node whose creation failed
    finally:
        quiet_end(signal.SIGINT, signal.SIGTERM)
        rclpy.try_shutdown()
        context.destroy()
    _leave_late_threads(status, destroyed=destroyed)
    return status


def _leave_late_threads(status: int, *, destroyed: bool) -> None:
    """
    End the process here if a node could not be destroyed or its threads are still at work.

    A busy machine may hold them up. The interpreter ends such threads where they next ask for it,
    and in a call of the middleware that is an abort of the process. The exit handlers of the
    middleware must not run while a node has its participant: they free what its threads still use.
    """
    deadline = time.monotonic() + JOIN_TIMEOUT
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0.0))
    if not destroyed or threading.active_count() > 1:
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _spin_and_stop(node: Node, executor: Executor, request: StopRequest) -> bool:
    """Run a node until it is to stop; return whether it could be destroyed."""
    stop = threading.Event()
    executor.add_node(node)

    def work() -> None:
        start = getattr(node, 'start', None)
        if start is not None:
            start()
        spin_until(executor, stop, node)
        request.set()

    thread = threading.Thread(target=work, name='executor', daemon=True)
    thread.start()
    request.wait()
    _call(node, 'make_safe')
    stop.set()
    thread.join(JOIN_TIMEOUT)
    executor.shutdown(timeout_sec=0.0)
    thread.join(JOIN_TIMEOUT)
    if not _call(node, 'release') or thread.is_alive():
        return False  # a thread that did not end in time may still be using it
    node.destroy_node()
    return True


def _call(node: Node, name: str) -> bool:
    """Call a method that the node may have, and return whether it succeeded; never raise."""
    try:
        return getattr(node, name, lambda: None)() is not False
    except Exception as error:  # noqa: BLE001
        node.get_logger().error(f'{name}: {printable(described(error))}')
        return False
