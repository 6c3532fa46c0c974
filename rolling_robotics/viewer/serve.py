"""A server of pages: its address, its cameras, its pace, and what stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
import io
from itertools import product
import signal
import socket
import threading
import time

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_robotics.scene.scene import rotation_matrices, Scene
import viser

ASIDE = np.array([0.5, -0.7, 0.45])  # from where a scene is seen


@contextmanager
def served(host: str, port: int) -> Iterator[viser.ViserServer]:
    """
    Yield a server, and stop it.

    Parameters
    ----------
    host
        Address on which it listens; 127.0.0.1 for this machine alone.
    port
        Its port; 0 for any that is free.

    Raises
    ------
    ParameterError
        The address cannot be used.

    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as e:
            raise ParameterError(
                f'--port: {host}:{port} cannot be used ({e}); give another, or 0 for any'
            ) from None
        chosen = probe.getsockname()[1]
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=chosen, label='rolling', verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.scene.set_up_direction('+z')
    # kind to machines that draw in software: no shadows, no mirrored surroundings
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.configure_environment_map(None)
    server.scene.add_light_ambient('/light', intensity=0.5)
    server.on_client_connect(partial(_look_as_begun, server))
    try:
        yield server
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()


def look_at(server: viser.ViserServer, low: np.ndarray, high: np.ndarray) -> None:
    """
    Have visitors see all of a box from aside and above.

    It lies between two corners [m], 3 numbers each.
    """
    middle, reach = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
    away = reach / np.sin(server.initial_camera.fov / 2)
    server.initial_camera.up = np.array([0.0, 0.0, 1.0])
    server.initial_camera.position = middle + away * ASIDE / np.linalg.norm(ASIDE)
    server.initial_camera.look_at = middle
    for client in server.get_clients().values():
        _look_as_begun(server, client)


def _look_as_begun(server: viser.ViserServer, client: viser.ClientHandle) -> None:
    """Have a visitor see what a new one sees, also one that came before there was a scene."""
    client.camera.position = server.initial_camera.position
    client.camera.look_at = server.initial_camera.look_at


def look_at_motion(server: viser.ViserServer, scene: Scene, wide: float = 1.0) -> None:
    """Have visitors see the ground and all places where something moves, or so many times that."""
    places = []
    for body in scene.bodies:
        points = np.vstack([m.vertices for m in body.meshes] or [np.zeros((1, 3))])
        box = np.stack([points.min(axis=0), points.max(axis=0)])
        corners = np.array(list(product(*box.T)))
        turned = corners @ rotation_matrices(body.attitude).transpose(0, 2, 1)
        places.append((body.position[:, None] + turned).reshape(-1, 3))
    every = np.vstack(places)
    low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    more = (wide - 1) * (high - low) / 2
    look_at(server, low - more, high + more)


def stop_request() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def ticks(
    stop: threading.Event, rate: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[float]:
    """
    Yield the time [s] at each tick until asked to stop.

    Parameters
    ----------
    stop
        Set to end.
    rate
        Ticks a second. A tick that work or the machine made late does not move those after it;
        those that were missed altogether are left out.
    clock
        Steady clock [s].

    """
    begin, count = clock(), 0
    while not stop.wait(max(0.0, begin + count / rate - clock())):
        now = clock()
        yield now
        count = max(count + 1, int((clock() - begin) * rate))
