"""`rolling animate`: pictures on which the ball is where it is, in every format."""

from pathlib import Path
import re
import shutil

import numpy as np
from PIL import Image
import pytest
from rolling_dynamics.robots.view import OBJECT
from rolling_robotics.animation.movie import pictures, Shot
from rolling_robotics.animation.painter import Camera, extent
from rolling_robotics.files import read_result
from rolling_robotics.scene.general import scene_of
import yaml


@pytest.fixture(scope='module')
def result(scenarios, tmp_path_factory):
    from rolling_robotics.cli import main

    folder = tmp_path_factory.mktemp('animate')
    document = yaml.safe_load((scenarios / 'spin_rolling_ball.yaml').read_text())
    document |= {'name': 'ball', 'inputs': {'angular_velocity': [0, 3, 0]}}  # along x
    (folder / 'scenario.yaml').write_text(yaml.safe_dump(document | {'duration': 1}))
    assert main(['simulate', str(folder / 'scenario.yaml'), '--out', str(folder / 'r.json')]) == 0
    return folder / 'r.json'


def place_of_ball(picture):
    """Return the mean column and row of the pixels in the deep colour of the ball."""
    rgb = picture.astype(float) / 255
    like = rgb / np.maximum(rgb.sum(axis=2, keepdims=True), 1e-9)
    wanted = np.array(OBJECT[0]) / sum(OBJECT[0])
    rows, columns = np.nonzero(np.abs(like - wanted).sum(axis=2) < 0.03)
    assert len(rows) > 500
    return columns.mean(), rows.mean()


def test_ball_moves_over_the_picture_as_it_rolls(result):
    """Seen from the side, 0.9 m along x are as many pixels as the scale of the picture says."""
    scene, camera = scene_of(read_result(result)), Camera(-np.pi / 2, 0.3)
    shot = Shot(rate=2, camera=camera, strips=False, width=400)
    first, _, last = (place_of_ball(p) for p in pictures(scene, shot))
    low, high = extent(scene, camera)
    expected = 0.9 * 400 / (high - low)[0]
    assert last[0] - first[0] == pytest.approx(expected, rel=0.06)
    assert abs(last[1] - first[1]) < 3


def test_nothing_is_left_of_the_picture_before(result):
    """A picture of a film, whose curves are drawn once, is the same as one that is drawn alone."""
    scene = scene_of(read_result(result))
    film = list(pictures(scene, Shot(rate=4, width=300)))
    for k in (1, 3):
        shot = Shot(rate=4, width=300, at=float(scene.times[0]) + k / 4)
        (alone,) = pictures(scene, shot, still=True)
        np.testing.assert_array_equal(film[k], alone)
    assert (film[1] != film[3]).any()


def test_gif_has_every_picture_and_lasts_as_long_as_the_motion(rolling, result, tmp_path):
    out = tmp_path / 'ball.gif'
    ended = rolling('animate', result, '--out', out, '--rate', 5, '--width', 300)
    assert ended.status == 0
    assert ended.out == f'6 pictures written to {out}\n'
    with Image.open(out) as image:
        assert (image.n_frames, image.info['duration'], image.info['loop']) == (6, 200, 0)
        assert image.width == 300
        first = np.asarray(image.convert('RGB')).astype(int)
        image.seek(5)
        last = np.asarray(image.convert('RGB')).astype(int)
    assert (np.abs(first - last).sum(axis=2) > 60).mean() > 0.02
    assert sorted(p.name for p in tmp_path.iterdir()) == ['ball.gif']


def test_png_is_one_picture_at_a_time(rolling, result, tmp_path):
    seen = []
    for at in (0, 1):
        out = tmp_path / f'{at}.png'
        done = rolling('animate', result, '--out', out, '--at', at, '--no-strips', '--width', 300)
        assert done.status == 0
        seen.append(place_of_ball(np.asarray(Image.open(out))))
    assert seen[1][0] > seen[0][0] + 20
    ended = rolling('animate', result, '--out', tmp_path / 'late.png', '--at', 7)
    assert (ended.status, '--at: must lie between 0 and 1 s' in ended.err) == (2, True)


def test_strip_shows_each_snapshot_in_its_place(rolling, result, tmp_path):
    out = tmp_path / 'strip.png'
    done = rolling('animate', result, '--out', out, '--strip', 0.15, '--width', 300)
    assert (done.status, done.out) == (0, f'7 pictures written to {out}\n')
    strip = np.asarray(Image.open(out))
    rows, width = strip.shape[0] // 2, 300
    assert strip.shape[1] == 5 * width
    cells = [
        strip[r * rows : (r + 1) * rows, c * width : (c + 1) * width]
        for r in range(2)
        for c in range(5)
    ]
    columns = [place_of_ball(cell)[0] for cell in cells[:7]]
    assert (np.diff(columns) > 5).all()  # the ball goes on from one to the next
    assert all((cell == 255).all() for cell in cells[7:])
    for options in (('--at', 0.5), ()):
        wrong = tmp_path / ('strip.png' if options else 'strip.gif')
        ended = rolling('animate', result, '--out', wrong, '--strip', 0.5, *options)
        assert (ended.status, '--strip: draws snapshots into one *.png' in ended.err) == (2, True)


def read(path):
    return Path(path).read_text()


@pytest.mark.skipif(shutil.which('ffmpeg') is None, reason='ffmpeg is not installed')
def test_mp4(rolling, result, tmp_path):
    out = tmp_path / 'ball.mp4'
    assert rolling('animate', result, '--out', out, '--rate', 4, '--width', 301).status == 0
    assert out.read_bytes()[4:8] == b'ftyp'


ENCODER = """\
#!/bin/sh
for last; do :; done
printf '%s\\n' "$*" > "$0.asked"
wc -c > "$0.bytes"
echo encoded > "$last"
"""


def test_mp4_sends_every_picture_to_the_encoder(rolling, result, tmp_path, monkeypatch):
    tool, out = tmp_path / 'bin' / 'ffmpeg', tmp_path / 'ball.mp4'
    tool.parent.mkdir()
    tool.write_text(ENCODER)
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tool.parent}:/usr/bin:/bin')
    ended = rolling('animate', result, '--out', out, '--rate', 4, '--width', 301)
    assert (ended.status, out.read_text()) == (0, 'encoded\n')
    columns, rows = map(int, re.search(r'-s (\d+)x(\d+)', read(f'{tool}.asked')).groups())
    assert (columns, rows % 2) == (300, 0)  # the codec wants even numbers
    count = int(re.search(r'(\d+) pictures', ended.out).group(1))
    assert int(read(f'{tool}.bytes')) == count * columns * rows * 3


def test_mp4_without_ffmpeg_says_what_to_do(rolling, result, tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path))
    ended = rolling('animate', result, '--out', tmp_path / 'ball.mp4')
    assert (ended.status, 'ffmpeg' in ended.err, '*.gif' in ended.err) == (2, True, True)


def test_an_ffmpeg_that_fails_is_quoted_and_leaves_nothing(rolling, result, tmp_path, monkeypatch):
    tool = tmp_path / 'ffmpeg'
    tool.write_text('#!/bin/sh\necho no codec here >&2\nexit 3\n')
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    ended = rolling('animate', result, '--out', tmp_path / 'ball.mp4', '--rate', 2)
    assert (ended.status, 'no codec here' in ended.err) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ['ffmpeg']


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        (['--rate', '0'], '--rate: must lie between'),
        (['--speed', '-1'], '--speed: must lie between'),
        (['--width', '5'], '--width: must lie between'),
        (['--out', 'ball.webm'], 'a file *.gif or *.mp4 or *.png is needed'),
    ],
)
def test_bad_options(rolling, result, tmp_path, options, words):
    ended = rolling('animate', result, '--out', tmp_path / 'ball.gif', *options)
    assert (ended.status, words in ended.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_no_half_picture(rolling, result, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr('rolling_robotics.animation.movie.Painter.draw', stop)
    ended = rolling('animate', result, '--out', tmp_path / 'ball.gif')
    assert (ended.status, 'nothing was written' in ended.err) == (130, True)
    assert list(tmp_path.iterdir()) == []
