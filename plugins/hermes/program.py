"""`countersign hook plugin`: one question in, one answer out; anything else is no answer."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

# An answer is a few sentences and at most the arguments that a person edited.
LONGEST_ANSWER = 4 * 1024 * 1024
# People answer when they can; the daemon ends a request in its own time, long before this.
LONGEST_WAIT = 24 * 60 * 60.0
# What the program may take to say that its patience has ended.
LAST_WORD = 3.0


class NoAnswer(Exception):
    """Why there is no answer to act on, as part of a sentence."""


def find():
    """The program's whole path: named by the environment, by the installer, or on the PATH."""
    named, by = os.environ.get("COUNTERSIGN_BINARY", "").strip(), "COUNTERSIGN_BINARY"
    if not named:
        written = Path(__file__).with_name("binary")
        if not written.exists():
            found = shutil.which("countersign")
            # A relative entry of the PATH would let the project's folder bring its own program.
            if not found or not os.path.isabs(found):
                raise NoAnswer("the program `countersign` was not found")
            return found
        named, by = written.read_text(encoding="utf-8").strip(), "the plugin's file `binary`"
    if not os.path.isabs(named):
        raise NoAnswer(f"{by} does not name a whole path")
    return named


def patience():
    """How long an answer about a call is waited for, in seconds."""
    try:
        seconds = float(os.environ.get("COUNTERSIGN_WAIT_SECONDS", ""))
    except ValueError:
        return LONGEST_WAIT
    return seconds if 0 < seconds < LONGEST_WAIT else LONGEST_WAIT


def ask(question, seconds, stopped=lambda: False):
    """Puts a question to Countersign. Every failure is a NoAnswer.

    The program answers by itself when its patience ends; whoever does not is not waited for.
    """
    try:
        # Escapes keep half a surrogate pair in the text, where the reader refuses it.
        text = json.dumps(question, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as trouble:
        raise NoAnswer(f"the call cannot be written as JSON: {trouble}") from trouble
    try:
        process = subprocess.Popen(
            [find(), "hook", "plugin", "--agent", "hermes", "--patience", f"{max(1, seconds):.0f}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Not the project's folder: whoever may write there must not reach our program.
            cwd=os.sep,
            start_new_session=True,
        )
    except OSError as trouble:
        raise NoAnswer(f"`countersign` could not be started: {trouble.strerror}") from trouble
    try:
        return read(_exchange(process, text, seconds + LAST_WORD, stopped))
    finally:
        _end(process)


def _exchange(process, text, seconds, stopped):
    said = []
    # Threads, because a program that does not read must not make us wait for it either.
    threading.Thread(target=_write, args=(process.stdin, text), daemon=True).start()
    listening = threading.Thread(target=_listen, args=(process.stdout, said), daemon=True)
    listening.start()
    until = time.monotonic() + seconds
    while listening.is_alive():
        listening.join(0.1)
        if listening.is_alive() and stopped():
            raise NoAnswer("it was interrupted while it waited")
        if listening.is_alive() and time.monotonic() > until:
            raise NoAnswer(f"none came within {seconds:g} s")
    if not said or len(said[0]) > LONGEST_ANSWER:
        raise NoAnswer("it said more than an answer can be long")
    try:
        code = process.wait(5)
    except subprocess.TimeoutExpired as trouble:
        raise NoAnswer("it did not end after its answer") from trouble
    if code != 0:
        raise NoAnswer(f"it ended with code {code}")
    return said[0]


def _write(pipe, text):
    try:
        with pipe:
            pipe.write(text)
    except (OSError, ValueError):
        pass  # It ended without reading; what it said and its exit code decide.


def _listen(pipe, said):
    with pipe:
        said.append(pipe.read(LONGEST_ANSWER + 1))


def _end(process):
    """Leaves nothing running, whatever happened."""
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
    """One JSON object, read strictly: no key twice, no number that JSON does not have."""
    try:
        answer = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as trouble:
        raise NoAnswer("what it said is not JSON") from trouble
    if not isinstance(answer, dict):
        raise NoAnswer("what it said is not a JSON object")
    return answer


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refuse(name):
    raise ValueError(f"{name} is not JSON")
