"""
Write the pages that docs/gallery.md embeds, each a simulation that runs in the browser.

    .venv/bin/python tools/gallery.py build/gallery

The landing page embeds `pages/quarter_turn.html`, a plan with a slider of time.
A page `pages/SCENARIO.html` or `pages/SCENARIO-LAW.html` in the text is what is written, with the
path of another simulator in `docs/beside/SCENARIO.json` beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
import re
import subprocess
import sys

from evidence.reality.circle import ballbot
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_robotics.page.page import page_of

TEXT = Path(__file__).resolve().parents[1] / 'docs' / 'gallery.md'
MOST = 400_000  # bytes of a page
WHOLE = 1_200_000  # bytes of one with the script of the viewer
PLAN = 'ball_on_plate_hard'


def embedded() -> list[tuple[str, str]]:
    """Return scenario and law, or the empty string, of each page in the text."""
    found = re.findall(r'pages/(\w+)(?:-(\w+))?\.html', TEXT.read_text(encoding='utf-8'))
    return list(dict.fromkeys(found))


def scenario_of(name: str) -> Scenario:
    """Return a scenario by its name, also the example ``ballbot``."""
    return ballbot().scenario if name == 'ballbot' else load_scenario(name)


def main() -> None:
    """Write every page; raise SystemExit for one that is too large."""
    folder = Path(sys.argv[1]) / 'pages'
    folder.mkdir(parents=True, exist_ok=True)
    for name, law in embedded():
        beside = TEXT.parent / 'beside' / f'{name}.json'
        path = json.loads(beside.read_text('utf-8')) if beside.is_file() else None
        text = page_of(scenario_of(name), law, path)
        path = folder / f'{name}{law and "-"}{law}.html'
        path.write_text(text, encoding='utf-8')
        _check(path, MOST)
    plan, path = folder.parent / 'plan.json', folder / 'quarter_turn.html'
    for command in (
        ['plan', PLAN, '--out', str(plan)],
        ['view', str(plan), '--export', str(path)],
    ):
        subprocess.run([sys.executable, '-m', 'rolling_robotics.cli', *command], check=True)
    plan.unlink()
    _check(path, WHOLE)


def _check(path: Path, most: int) -> None:
    size = path.stat().st_size
    print(f'{path} ({size / 1000:.0f} kB)')
    if size > most:
        raise SystemExit(f'gallery: {path} has more than {most / 1000:.0f} kB')


if __name__ == '__main__':
    main()
