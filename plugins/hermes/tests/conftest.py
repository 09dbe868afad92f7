"""A scratch home with Hermes and the plugin in it; nothing beyond this machine is reachable."""

import json
import os
import shutil
import socket
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).resolve().parent
HOME = Path(tempfile.mkdtemp(prefix="countersign-hermes-"))
WORK = HOME / "work"

# Before Hermes is imported: it reads its home and its plugins when its modules load.
for name in [name for name in os.environ if name.startswith(("HERMES_", "COUNTERSIGN_"))]:
    if name not in ("COUNTERSIGN_TEST_BINARY",):
        del os.environ[name]
os.environ.update(HOME=str(HOME), HERMES_HOME=str(HOME / ".hermes"), TERMINAL_CWD=str(WORK))
os.environ["HERMES_CONCURRENT_TOOL_TIMEOUT_S"] = "60"
WORK.mkdir()
PLUGIN = HOME / ".hermes" / "plugins" / "countersign"
shutil.copytree(HERE.parent, PLUGIN, ignore=shutil.ignore_patterns("tests", "__pycache__", "check"))
CONFIG = HOME / ".hermes" / "config.yaml"
CONFIG.write_text(
    "plugins:\n  enabled: [countersign]\n"
    "approvals:\n  mode: manual\n  deny: ['*never-this*']\n"
    "model:\n  context_length: 128000\n"
    "memory:\n  memory_enabled: false\n  user_profile_enabled: false\n"
)
os.chdir(WORK)

_connect = socket.socket.connect


def _near(self, address):
    """Connects to this machine only."""
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"no network in these tests: {address}")
    return _connect(self, address)


socket.socket.connect = _near


def pytest_sessionfinish():
    os.chdir("/")
    shutil.rmtree(HOME, ignore_errors=True)


class FakeHook:
    """The hook as a test wants it."""

    def __init__(self, place):
        self.place = place
        self.program = place / "countersign"
        source = (HERE / "fake_hook.py").read_text()
        self.program.write_text(f"#!{sys.executable} -SE\n{source}")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.plan()

    def plan(self, **events):
        (self.place / "plan.json").write_text(json.dumps(events))

    def heard(self, event=None):
        path = self.place / "heard"
        lines = path.read_text().splitlines() if path.exists() else []
        questions = [json.loads(line) for line in lines]
        for question in [call for q in questions for call in q.get("calls", [q])]:
            # Named after the turn and then the model's own name for it.
            question["named"] = question.get("call_id", "").rpartition("/")[2]
        return [q for q in questions if event in (None, q["event"])]


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """The stand-in hook; allows everything until told otherwise."""
    place = tmp_path / "hook"
    place.mkdir()
    stand_in = FakeHook(place)
    monkeypatch.setenv("STAND_IN", str(place))
    monkeypatch.setenv("COUNTERSIGN_BINARY", str(stand_in.program))
    return stand_in


@pytest.fixture
def call(request):
    """Hermes' own dispatch of one tool call, its result read."""
    from model_tools import handle_function_call

    def dispatch(tool, args, **more):
        more.setdefault("task_id", request.node.name)
        more.setdefault("session_id", f"session of {request.node.name}")
        more.setdefault("tool_call_id", "call-1")
        return json.loads(handle_function_call(tool, args, **more))

    return dispatch


@pytest.fixture
def keep(tmp_path):
    """A folder that must still be there if nothing ran."""
    folder = tmp_path / "keep"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work\n")
    return folder


@pytest.fixture
def turn(request):
    """Runs one turn: the person's words in, the agent's answer and the model's side out."""
    models = []

    def run(words, *answers, **more):
        from run_agent import AIAgent
        from fake_model import Model

        model = Model(*answers)
        models.append(model)
        agent = AIAgent(
            base_url=model.url,
            api_key="none",
            provider="custom",
            api_mode="chat_completions",
            model="stand-in",
            enabled_toolsets=["terminal", "file", "delegation"],
            quiet_mode=True,
            skip_context_files=True,
            skip_memory=True,
            tool_delay=0,
            session_id=f"session-{request.node.name}",
            **more,
        )
        said = agent.run_conversation(words)["final_response"]
        return SimpleNamespace(said=said, model=model, agent=agent)

    yield run
    for model in models:
        model.close()


def results(turn):
    """What the tools gave back to the model, by call."""
    last = turn.model.heard[-1]["messages"]
    return {m["tool_call_id"]: m["content"] for m in last if m["role"] == "tool"}
