"""Views of RViz for a robot whose frames have a prefix; RViz itself takes no parameters."""

from __future__ import annotations

from pathlib import Path
import re
import tempfile

WORLDS = ('world', '<Fixed Frame>')  # frames that no robot has to itself


def prefixed_view(view: str, prefix: str) -> str:
    """
    Return a view that looks at the frames with a prefix.

    Parameters
    ----------
    view
        Text of an ``.rviz`` file.
    prefix
        Put before the names of the robot's frames; the world's are left as they are.

    """

    def prefixed(match: re.Match[str]) -> str:
        key, frame = match.groups()
        return match.group() if frame in WORLDS else f'{key}{prefix}{frame}'

    return re.sub(r'^(\s*(?:Fixed|Target) Frame: )(.+)$', prefixed, view, flags=re.MULTILINE)


def view_file(path: Path, prefix: str) -> Path:
    """Return the file of a view, with a prefix a copy among the temporary files."""
    if not prefix:
        return path
    with tempfile.NamedTemporaryFile(
        'w', prefix=f'{path.stem}_', suffix=path.suffix, delete=False, encoding='utf-8'
    ) as copy:
        copy.write(prefixed_view(path.read_text(encoding='utf-8'), prefix))
    return Path(copy.name)
