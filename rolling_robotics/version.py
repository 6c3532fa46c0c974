"""Version of the installed package."""

from __future__ import annotations


def version() -> str:
    """Return the version, as `rolling --version` shows it."""
    from importlib import metadata  # noqa: PLC0415  (slow to import)

    try:
        return metadata.version('rolling_robotics')
    except metadata.PackageNotFoundError:
        return 'not installed'
