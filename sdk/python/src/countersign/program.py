"""Runs the ``countersign`` program, which assesses calls without a daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from . import plain
from .call import Call
from .errors import BadInput, CountersignError, Unexpected

#: Timeout in seconds; an assessment takes milliseconds.
_PATIENCE = 30.0


def program() -> str:
    """The path of the program: ``COUNTERSIGN_BINARY``, else ``countersign`` on the path."""
    found = os.environ.get("COUNTERSIGN_BINARY") or shutil.which("countersign")
    if not found:
        raise BadInput("`countersign` is not installed: install it or set COUNTERSIGN_BINARY")
    return found


def assess(call: Call) -> dict[str, Any]:
    """The assessment of a call by the program's built-in rules."""
    words = ["assess", "--batch"]
    options = {"platform": call.platform, "cwd": call.cwd, "env": call.environment}
    options["project"] = call.project or None
    for name, value in {**options, "claimed": call.risk_level}.items():
        if value is not None:
            words += [f"--{name}={value}"]
    return _answered(words, f"{{{call.what()}}}")


def screen(text: str, preset: str | None = None) -> dict[str, Any]:
    """Signs of a person in crisis in a text; ``preset`` is the wording of the card."""
    words = ["screen", "--batch"] + ([] if preset is None else [f"--preset={preset}"])
    return _answered(words, plain.encode({"text": text}, "the text"))


def plan(calls: Sequence[Call]) -> dict[str, Any]:
    """Which calls of a list may run in parallel."""
    listed = ",".join(f"{{{call.what()}}}" for call in calls)
    return _answered(["plan", "--batch"], f"[{listed}]")


def _answered(words: list[str], line: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [program(), *words],
            input=f"{line}\n".encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CountersignError(f"`countersign` failed: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise CountersignError(f"`countersign` failed: {said}")
    found = plain.decode(done.stdout.decode(errors="replace"))
    if not isinstance(found, dict) or "error" in found:
        raise Unexpected("the output of `countersign` is invalid")
    return found
