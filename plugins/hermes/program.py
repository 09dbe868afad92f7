"""Runs `countersign hook plugin`: one question in, one answer out; anything else is an error."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

# The longest answer: a few sentences and edited arguments.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# The longest wait, in seconds; the daemon's own deadline is much earlier.
MAX_WAIT_SECONDS = 24 * 60 * 60.0
# How long the program may take to exit after its own time limit, in seconds.
EXIT_GRACE = 3.0


class HookError(Exception):
    """Why there is no valid answer, as part of a sentence."""


def find():
    """The absolute path of the program: from the installer, the environment, or the PATH.

    The installer's file comes first: an agent can set variables, but not change that file.
    """
    named, by = _installed("binary"), "the plugin's file `binary`"
    if named is None:
        named, by = os.environ.get("COUNTERSIGN_BINARY", "").strip(), "COUNTERSIGN_BINARY"
    if not named and by == "COUNTERSIGN_BINARY":
        found = shutil.which("countersign")
        # A relative entry of the PATH would find a program in the project's folder.
        if not found or not os.path.isabs(found):
            raise HookError("`countersign` is not installed")
        return found
    if not os.path.isabs(named):
        raise HookError(f"{by} is not an absolute path")
    return named


def _installed(name):
    """The text of a file that the installer wrote beside the plugin; None without one."""
    written = Path(__file__).with_name(name)
    return written.read_text(encoding="utf-8").strip() if written.exists() else None


def _words(seconds):
    words = [find(), "hook", "plugin", "--agent", "hermes", "--patience", f"{max(1, seconds):.0f}"]
    key = _installed("daemon_key")
    return words if key is None else [*words, "--daemon-key", key]


def patience():
    """How long to wait for a decision, in seconds."""
    try:
        seconds = float(os.environ.get("COUNTERSIGN_WAIT_SECONDS", ""))
    except ValueError:
        return MAX_WAIT_SECONDS
    return seconds if 0 < seconds < MAX_WAIT_SECONDS else MAX_WAIT_SECONDS


def ask(question, seconds, is_stopped=lambda: False):
    """Asks Countersign. Every failure is a HookError.

    The program answers before its time limit; a program that does not is ended.
    """
    try:
        # Escapes keep an unpaired surrogate in the text, and the parser rejects it.
        text = json.dumps(question, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise HookError(f"the call cannot be written as JSON: {error}") from error
    try:
        process = subprocess.Popen(
            _words(seconds),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Not the project's folder, whose files must not affect the program.
            cwd=os.sep,
            start_new_session=True,
        )
    except OSError as error:
        raise HookError(f"`countersign` could not be started: {error.strerror}") from error
    try:
        return read(_exchange(process, text, seconds + EXIT_GRACE, is_stopped))
    finally:
        _end(process)


def _exchange(process, text, seconds, is_stopped):
    said = []
    # Threads, because a program that does not read must not block the caller.
    threading.Thread(target=_write, args=(process.stdin, text), daemon=True).start()
    listening = threading.Thread(target=_listen, args=(process.stdout, said), daemon=True)
    listening.start()
    until = time.monotonic() + seconds
    while listening.is_alive():
        listening.join(0.1)
        if listening.is_alive() and is_stopped():
            raise HookError("the wait was interrupted")
        if listening.is_alive() and time.monotonic() > until:
            raise HookError(f"no answer within {seconds:g} s")
    if not said or len(said[0]) > MAX_ANSWER_BYTES:
        raise HookError("the answer is too long")
    try:
        code = process.wait(5)
    except subprocess.TimeoutExpired as error:
        raise HookError("the program did not exit after its answer") from error
    if code != 0:
        raise HookError(f"the program exited with code {code}")
    return said[0]


def _write(pipe, text):
    try:
        with pipe:
            pipe.write(text)
    except (OSError, ValueError):
        pass  # The program exited without reading; its output and exit code decide.


def _listen(pipe, said):
    with pipe:
        said.append(pipe.read(MAX_ANSWER_BYTES + 1))


def _end(process):
    """Ends the process group."""
    if process.poll() is not None:
        return
    for sign, seconds in ((signal.SIGTERM, 1), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            continue
        except OSError:
            return


def read(raw):
    """Parses one JSON object strictly: no duplicate keys, no NaN."""
    try:
        answer = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise HookError("the answer is not JSON") from error
    if not isinstance(answer, dict):
        raise HookError("the answer is not a JSON object")
    return answer


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _refuse(name):
    raise ValueError(f"{name} is not JSON")
