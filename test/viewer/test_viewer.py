"""The viewer without a browser: what the server is sent, and how the command starts and ends."""

import base64
from dataclasses import replace
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

pytest.importorskip('viser')

from rolling_robotics.files import read_result
from rolling_robotics.scene.general import scene_of
from rolling_robotics.scene.scene import rotation_matrices
from rolling_robotics.viewer.panel import (
    Follow,
    legend_of,
    Player,
    rounded_step,
)
from rolling_robotics.viewer.scene_server import (
    _look_as_at_start,
    LAYERS,
    look_at_motion,
    Stage,
    ticks,
    USUAL,
)


def test_bodies_and_frames_are_where_the_scene_has_them(server, plate):
    stage = Stage(server, plate)
    for k in (0, 20, len(plate.times) - 1):
        stage.show(k)
        items = [*plate.bodies, *plate.ghosts, *plate.frames]
        assert len(stage._moving) == len(items)
        for handle, item in zip(stage._moving, items, strict=True):
            if np.isfinite(item.attitude[k]).all():
                assert np.allclose(handle.position, item.position[k])
                assert np.allclose(handle.wxyz, item.attitude[k])
            else:
                assert not handle.visible


def test_force_lies_in_its_cone_and_has_its_length(server, plate):
    stage = Stage(server, plate)
    stage.show(10)
    frame, wrench = plate.frames[0].name, plate.frames[0].wrench
    arrow, cone = stage._forces[frame]
    tip = np.asarray(arrow.points)[0, 1]
    assert tip == pytest.approx(wrench.force[10] * wrench.scale)
    rim = np.asarray(cone.vertices)[1:] * cone.scale
    assert rim[:, 2] == pytest.approx(tip[2])
    assert np.hypot(*rim[:, :2].T) == pytest.approx(wrench.mu[10] * rim[:, 2])


def test_no_cone_is_drawn_before_a_force(server, plate):
    stage = Stage(server, plate)
    frame = plate.frames[0]
    # a page that is exported draws it as it was made
    arrow, cone = stage._forces[frame.name] = stage._add_wrench(frame)
    assert not arrow.visible
    assert not cone.visible
    stage.push(frame, [0.0, 0.0, 0.1], 0.3)
    assert {mesh.opacity for mesh in stage._solid} == {0.45}  # the force is inside the ball
    stage.push(frame, [0.0, 0.0, 0.0], 0.3)  # in flight
    assert not cone.visible
    assert {mesh.opacity for mesh in stage._solid} == {None}
    stage.push(frame, [0.0, 0.0, 0.1], 0.3)
    assert arrow.visible
    assert cone.visible


def test_layers_are_switched_off_and_on_again(server, plate):
    stage, k = Stage(server, plate), len(plate.times) - 1
    assert [layer for layer in LAYERS if stage.has(layer)] == ['paths', 'force', 'frames']
    stage.show(k)

    def seen():
        paths = any(handle.visible for handle, _ in stage._pieces)
        forces = any(arrow.visible for arrow, _ in stage._forces.values())
        return paths, forces, all(axes.show_axes for axes in stage._axes)

    assert seen() == (True, True, True)
    for layer, expected in (('paths', 0), ('force', 1), ('frames', 2)):
        stage.switch(layer, False)
        assert seen() == tuple(i != expected for i in range(3))
        stage.switch(layer, True)
        assert seen() == (True, True, True)


def test_force_is_seen_in_a_body_of_markers_which_are_open(server, plate):
    def opened(body):
        return replace(body, meshes=tuple(replace(m, closed=False) for m in body.meshes))

    stage = Stage(server, replace(plate, bodies=tuple(map(opened, plate.bodies))))
    stage.push(plate.frames[0], [0.0, 0.0, 0.1], 0.3)
    assert {mesh.opacity for mesh in stage._solid} == {0.45}


def test_legend_names_what_is_drawn_in_its_colours(plate):
    text = legend_of(plate.legend)
    for name in (
        'contact force',
        'friction cone',
        'contact frame, x',
        *(trace.name for trace in plate.traces),
    ):
        assert name in text
    assert 'where the plan ends' not in text  # there is no ghost


@pytest.mark.parametrize('aspect', [USUAL, 0.5])
def test_whole_motion_fills_the_picture_at_the_start(server, plate, aspect):
    look_at_motion(server, plate)
    visitor = Visitor()
    visitor.aspect = aspect
    _look_as_at_start(server, visitor)
    back = visitor.position - visitor.look_at
    back /= np.linalg.norm(back)
    right = np.cross([0, 0, 1], back)
    right /= np.linalg.norm(right)
    filled = np.zeros(2)
    for body in plate.bodies:
        turned = rotation_matrices(body.attitude)
        for mesh in body.meshes:
            seen = body.position[:, None] + mesh.vertices @ turned.transpose(0, 2, 1)
            way = seen.reshape(-1, 3) - visitor.position
            picture = np.stack([way @ right, way @ np.cross(back, right)]) / -(way @ back)
            filled = np.maximum(filled, np.abs(picture).max(axis=1))
    filled /= np.tan(visitor.fov / 2) * np.array([aspect, 1.0])
    assert 0.9 < filled.max() < 1.0


class Visitor:
    """A visitor's camera, which takes where it looks along when it is moved."""

    def __init__(self):
        self.camera, self.look_at, self._position = self, np.ones(3), np.array([2.0, 3.0, 4.0])
        self.aspect, self.fov, self.image_width = USUAL, 1.0, 1000

    @property
    def position(self):
        return self._position

    @position.setter
    def position(self, value):
        self.look_at, self._position = self.look_at + value - self._position, value


def test_cameras_follow_what_rolls_and_visitors_may_turn_them(server, plate, monkeypatch):
    visitor = Visitor()
    monkeypatch.setattr(server, 'get_clients', lambda: {0: visitor})
    look_at_motion(server, plate)
    assert visitor.look_at == pytest.approx(server.initial_camera.look_at)
    aside = server.initial_camera.position - server.initial_camera.look_at
    visitor.position = visitor.look_at + np.array([0.0, 0.5, 0.5])  # turned by hand ...
    visitor.look_at = visitor.look_at - [0.0, 0.5, 0.5]
    turned = visitor.position - visitor.look_at
    follow = Follow(server, on=False)
    follow.go_to([9.0, 9.0, 9.0])  # not asked for
    assert server.initial_camera.look_at != pytest.approx([9.0, 9.0, 9.0])
    follow.box.value = True
    for place in ([1.0, 2.0, 3.0], [np.nan, 0.0, 0.0]):
        follow.go_to(place)
        for camera, way in ((server.initial_camera, aside), (visitor, turned)):
            assert camera.look_at == pytest.approx([1.0, 2.0, 3.0])
            assert camera.position == pytest.approx(camera.look_at + way)  # ... and stays so


@pytest.mark.parametrize(('length', 'step'), [(1.0, 1e-3), (2.0, 1e-3), (13.7, 1e-2), (0.3, 1e-4)])
def test_times_of_the_slider_are_round(length, step):
    assert rounded_step(length) == pytest.approx(step)


def test_trace_comes_into_sight_as_it_is_passed(server, plate):
    stage = Stage(server, plate)
    shown = []
    for k in (0, len(plate.times) // 2, len(plate.times) - 1):
        stage.show(k)
        shown.append(sum(handle.visible for handle, _ in stage._pieces))
    assert shown[0] < shown[1] < shown[2] == len(stage._pieces)


def test_player_goes_on_with_the_clock_and_begins_again(server, plate):
    player = Player(server, plate, speed=2.0)
    player._slid -= 1.0  # the slider is not moved more often than ten times per second
    player.advance(0.1)
    assert player.slider.value == pytest.approx(0.2)
    player.playing.value = False
    player.advance(0.1)
    assert player._time == pytest.approx(0.2)
    player.playing.value = True
    player.advance(10.0)
    assert player._time == plate.times[0]
    player.mark()


def test_curves_mark_the_present_once(server, plate):
    player = Player(server, plate)
    player.advance(0.25)
    player.mark()
    for (handle, _), strip in zip(player._curves, plate.strips, strict=True):
        drawn = re.findall(r'points="([^"]*)"', handle.content)
        assert len(drawn) == len(strip.curves) + (strip.limit is not None)
        for curve in drawn:
            places = np.array([p.split(',') for p in curve.split()], dtype=float)
            assert 1.9 < places[:, 1].min() <= places[:, 1].max() < 58.1
        (marked,) = re.findall(r'<line [^>]*x1="([\d.]+)"', handle.content)
        part = (0.25 - plate.times[0]) / np.ptp(plate.times)
        assert float(marked) == pytest.approx(239 * part, abs=0.1)


class Clock:
    """A clock that only waiting and work move; asks to stop after some ticks."""

    def __init__(self, work):
        self.now, self._work = 50.0, iter(work)

    def wait(self, duration):
        self.now += duration
        return next(self._work, None) is None

    def __call__(self):
        return self.now


def test_ticks_keep_to_their_times_whatever_the_work_takes():
    work = [0.0, 0.005, 0.013, 0.0, 0.034, 0.0, 0.0]
    clock, seen = Clock(work), []
    for now in ticks(clock, 100.0, clock):
        seen.append(round(1000 * (now - 50.0), 6))
        clock.now += work[len(seen) - 1]
    # one that was late by 3 ms comes at once and the next in time; three that were missed are not
    # made up for
    assert seen == [0, 10, 20, 33, 40, 74, 80]


def test_port_in_use_is_told(rolling_ball, capsys):
    from rolling_robotics.cli import main

    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(['view', str(rolling_ball), '--port', str(port)]) == 2
    assert f'127.0.0.1:{port} cannot be used' in capsys.readouterr().err


def test_command_serves_a_page_and_ctrl_c_ends_it(rolling_ball):
    command = [sys.executable, '-m', 'rolling_robotics.cli', 'view', str(rolling_ball)]
    with subprocess.Popen(
        [*command, '--port', '0'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        address = re.search(r'http://127\.0\.0\.1:\d+', process.stdout.readline()).group()
        with urllib.request.urlopen(address, timeout=60) as page:  # noqa: S310
            assert page.status == 200
            assert b'<canvas' in page.read() or page.headers['content-type'] == 'text/html'
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, 'viewer closed' in out, 'Traceback' in err) == (0, True, False)


def test_missing_viewer_says_how_to_install_it(rolling_ball, monkeypatch, capsys):
    from rolling_robotics.cli import main

    monkeypatch.setattr('importlib.util.find_spec', lambda _: None)
    assert main(['view', str(rolling_ball)]) == 2
    assert "pip install 'rolling_robotics[viewer]'" in capsys.readouterr().err


def test_scene_of_a_plan_has_its_ghost_on_the_stage(server, rolling_ball):
    scene = scene_of(read_result(rolling_ball) | {'plan': {}})
    stage = Stage(server, scene)
    stage.show(0)
    assert len(stage._moving) == len(scene.bodies) + len(scene.ghosts) + len(scene.frames)
    assert len(scene.ghosts) == 1
    assert np.allclose(stage._moving[len(scene.bodies)].position, [0.9, 0, 0.3])


def test_page_holds_everything_and_opens_nothing(rolling_ball, tmp_path, capsys):
    """Pose by pose, in the client's own format; no script, style or picture of another place."""
    import msgspec  # viser brings both
    from rolling_robotics.cli import main
    import zstandard

    page = tmp_path / 'made' / 'page.html'
    assert main(['view', str(rolling_ball), '--speed', '0.5', '--export', str(page)]) == 0
    assert f'written to {page}' in capsys.readouterr().out
    text = page.read_text(encoding='utf-8')
    assert not re.search(r'<(script|link|img)[^>]*(src|href)="(?!data:)', text)
    packed = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]+)"', text).group(1))
    data = zstandard.ZstdDecompressor().decompress(packed[8:])
    size = int.from_bytes(data[:8], 'little')
    recording = msgspec.msgpack.decode(data[8 : 8 + size])
    result = json.loads(rolling_ball.read_text())
    assert recording['durationSeconds'] == pytest.approx(2 * result['duration'], abs=0.1)
    kinds = [message['type'] for _, message in recording['messages']]
    moves = kinds.count('SetPositionMessage')
    assert moves > 20 * recording['durationSeconds']
    assert not any(kind.startswith('Gui') for kind in kinds)


def test_live_scene_is_not_exported(capsys):
    from rolling_robotics.cli import main

    assert main(['view', '--export', 'page.html']) == 2
    assert 'takes a FILE' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('origin', 'answer'),
    [
        ('Origin: http://localhost:9000\r\n', 101),
        ('Origin: http://127.0.0.1\r\n', 101),
        ('', 101),  # no browser
        ('Origin: http://evil.example\r\n', 403),
        ('Origin: http://127.0.0.1.evil.example:80\r\n', 403),
        ('Origin: null\r\n', 403),
    ],
)
def test_a_page_from_elsewhere_reaches_no_viewer_of_this_machine(server, origin, answer):
    """It would push a robot whose nodes are shown: browsers connect to wherever a page says."""
    port = server.get_port()
    with socket.create_connection(('127.0.0.1', port), 30) as client:
        client.sendall(
            f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n{origin}'
            'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
            'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'.encode()
        )
        assert client.recv(12).decode() == f'HTTP/1.1 {answer}'


def test_what_is_no_browser_is_no_traceback(server, capfd):
    with socket.create_connection(('127.0.0.1', server.get_port()), 30) as client:
        client.sendall(b'GARBAGE\r\n\r\n')
        assert client.recv(1) == b''
    assert capfd.readouterr().err == ''
