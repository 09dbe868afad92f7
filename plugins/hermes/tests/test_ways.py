"""Other ways to a tool: an MCP server, a cron job, Hermes' tools served to others, the bridge."""

import sys
from pathlib import Path

import pytest
from fake_model import Model

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def mcp_tool():
    """The name under which Hermes knows the tool of a real MCP server."""
    from tools.mcp_tool import register_mcp_servers, shutdown_mcp_servers

    server = {"command": sys.executable, "args": [str(HERE / "mcp_server.py")]}
    names = register_mcp_servers({"files": server})
    [name] = [name for name in names if name.endswith("delete")]
    yield name
    shutdown_mcp_servers()


def test_a_tool_of_an_mcp_server_runs_only_when_allowed(hook, call, keep, mcp_tool):
    hook.plan(before={"denies": {mcp_tool: "Denied."}})
    assert call(mcp_tool, {"path": str(keep / "thesis.txt")}) == {"error": "Denied."}
    assert (keep / "thesis.txt").exists()
    hook.plan()
    result = call(mcp_tool, {"path": str(keep / "thesis.txt")})
    assert "deleted" in str(result) and not (keep / "thesis.txt").exists()


def test_the_bridge_to_deferred_tools_is_asked_about_as_the_tool_inside(hook, call, keep, mcp_tool):
    hook.plan(before={"denies": {mcp_tool: "Denied."}})
    wrapped = {"name": mcp_tool, "arguments": {"path": str(keep / "thesis.txt")}}
    assert call("tool_call", wrapped) == {"error": "Denied."}
    assert (keep / "thesis.txt").exists()


def test_a_call_without_any_names_is_asked_about(hook, call, keep):
    # As Hermes' own MCP server calls its tools.
    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    none = {"task_id": None, "session_id": None, "tool_call_id": None}
    assert call("terminal", {"command": f"rm -rf {keep}"}, **none) == {"error": "Denied."}
    [asked] = hook.heard("before")
    assert asked["call_id"].startswith("hermes-") and (keep / "thesis.txt").exists()


def test_a_cron_job_s_calls_are_asked_about(hook, keep, monkeypatch):
    from cron.scheduler import run_job

    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    model = Model([("k1", "terminal", {"command": f"rm -rf {keep}"})], "Could not.")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    try:
        job = {
            "id": "job1",
            "name": "tidy",
            "prompt": "tidy up",
            "provider": "custom",
            "base_url": model.url,
            "model": "stand-in",
            "enabled_toolsets": ["terminal"],
        }
        success, _document, said, error = run_job(job)
    finally:
        model.close()
    assert success and said == "Could not.", error
    assert (keep / "thesis.txt").exists()
    assert [q["named"] for q in hook.heard("before")] == ["k1"]
