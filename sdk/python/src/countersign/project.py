"""The project of a call: the git repository that contains its directory."""

from __future__ import annotations

import functools
import os
from pathlib import Path

#: How many folders are looked at.
_MAX_LEVELS = 64


def default_project(cwd: str | None) -> str | None:
    """The repository of ``cwd``, else of the process's working directory."""
    try:
        return _git_root(cwd or str(Path.cwd()))
    except (OSError, RuntimeError):
        return None


@functools.lru_cache(maxsize=64)
def _git_root(start: str) -> str | None:
    folder = Path(start)
    if not folder.is_absolute():
        return None
    # The home folder, the folders above it and the root are never a project.
    excluded = {home := Path("~").expanduser(), *home.parents, Path(folder.anchor)}
    for parent in [folder, *folder.parents][:_MAX_LEVELS]:
        if parent in excluded:
            return None
        if os.path.lexists(parent / ".git"):
            return str(parent)
    return None
