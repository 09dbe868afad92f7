"""Every example of the README runs as it is."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture

from countersign import Call, NotApproved

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES: list[str] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ran: list[Any] = []


def example(part: str) -> str:
    """The one example that contains this part."""
    (found,) = [text for text in EXAMPLES if part in text]
    return found


def execute(part: str, **names: Any) -> dict[str, Any]:
    """Runs an example with these names defined."""
    ran.clear()
    exec(compile(example(part), part, "exec"), names)  # noqa: S102
    return names


def send_email(to: str) -> str:
    """Sends an e-mail."""
    ran.append(to)
    return f"sent to {to}"


def read_file(path: str) -> str:
    return path


def test_every_example_is_tested() -> None:
    assert len(EXAMPLES) == 9


def test_one_action(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        execute("request_confirmation(\n", send_email=send_email)
    assert ran == ["ana@example.com"]
    with running_daemon.answering("deny"):
        execute("request_confirmation(\n", send_email=send_email)
    assert ran == []


def test_gated_functions(running_daemon: DaemonFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with running_daemon.answering("deny", reason="wrong amount"):
        names = execute("@gated")
    assert capsys.readouterr().out == "Denied by owner: wrong amount\n"
    with running_daemon.answering("approve"):
        assert names["send_invoice"]("bob@example.com", 1.5) == "sent 1.5 to bob@example.com"


def test_several_calls(running_daemon: DaemonFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with running_daemon.answering("approve"):
        execute("gate_batch", send_email=send_email, read_file=read_file)
    assert capsys.readouterr().out == "notes.txt\nsent to ana@example.com\n"


def test_more_control(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        execute("clearance.command", run=ran.append)
    assert ran == ["rm -rf /tmp/build"]
    assert running_daemon.latest()["reported"]["status"] == "ok"
    with running_daemon.answering("deny"), pytest.raises(NotApproved):
        execute("clearance.command", run=ran.append)
    assert ran == []


def test_permits(running_daemon: DaemonFixture) -> None:
    pytest.importorskip("cryptography")
    client = running_daemon.client()
    with running_daemon.answering("approve"):
        request = client.ask(Call(tool="send_email", arguments={"to": "ana@example.com"}))
    names = execute("verify_permit", permit=request.permit, jwks=client.jwks())
    assert names["claims"]["decided_by"] == "owner"


def gated(running_daemon: DaemonFixture, part: str, names: Callable[[], dict[str, Any]]) -> None:
    """Runs the example of an adapter: an approved call runs once, a denied one does not."""
    with running_daemon.answering("approve"):
        execute(part, **names())
    assert ran == ["ana@example.com"]
    with running_daemon.answering("deny"):
        execute(part, **names())
    assert ran == []


def test_langchain(running_daemon: DaemonFixture) -> None:
    pytest.importorskip("langchain")
    from langchain_core.messages import AIMessage
    from test_langchain import Fake, called

    def names() -> dict[str, Any]:
        said = [called("ana@example.com"), AIMessage(content="done")]
        return {"model": Fake(messages=iter(said)), "send_email": send_email}

    gated(running_daemon, "CountersignMiddleware", names)


def test_openai_agents(running_daemon: DaemonFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = pytest.importorskip("agents")
    from test_openai_agents import StandIn

    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    agents.set_tracing_disabled(True)

    def names() -> dict[str, Any]:
        model = StandIn('{"to":"ana@example.com"}')
        return {"model": model, "send_email": agents.function_tool(send_email)}

    gated(running_daemon, "gated_tools", names)


def test_pydantic_ai(running_daemon: DaemonFixture) -> None:
    pytest.importorskip("pydantic_ai")
    from test_pydantic_ai import ANA, model

    gated(running_daemon, "pydantic_ai", lambda: {"model": model(ANA), "send_email": send_email})


@pytest.mark.skipif(
    importlib.util.find_spec("crewai") is None, reason="CrewAI has an environment of its own"
)
def test_crewai(running_daemon: DaemonFixture) -> None:
    from crewai.hooks import clear_all_tool_call_hooks
    from crewai.tools import tool
    from test_crewai import StandIn

    def names() -> dict[str, Any]:
        clear_all_tool_call_hooks()
        return {"model": StandIn(model="x"), "send_email": tool("send_email")(send_email)}

    gated(running_daemon, "CountersignHooks", names)
    clear_all_tool_call_hooks()
