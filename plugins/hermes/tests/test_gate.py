"""Real tools through Hermes' own dispatch: what is not allowed does not run."""

import json
import os
import signal
import threading
import time

import pytest


def test_hermes_found_and_loaded_the_plugin():
    import model_tools  # noqa: F401  discovers plugins
    from hermes_cli.plugins import get_plugin_manager

    loaded = get_plugin_manager()._plugins["countersign"]
    assert loaded.enabled and loaded.error is None
    assert "pre_tool_call" in loaded.hooks_registered
    assert loaded.middleware_registered == ["tool_execution"]


def test_allowed_commands_run_and_are_reported(hook, call, keep):
    result = call("terminal", {"command": f"cat {keep}/thesis.txt"})
    assert result["output"].strip() == "years of work"
    [asked], [after] = hook.heard("before"), hook.heard("after")
    assert asked["tool"] == "terminal" and asked["call_id"] == "call-1"
    assert asked["arguments"] == {"command": f"cat {keep}/thesis.txt"}
    assert asked["session"] == "session of test_allowed_commands_run_and_are_reported"
    assert os.path.isabs(asked["cwd"])
    assert (after["call_id"], after["status"], after["tool"]) == ("call-1", "ok", "terminal")
    assert after["session"] == asked["session"] and after["duration_ms"] >= 0


def test_a_denied_command_does_not_run_and_says_why(hook, call, keep):
    hook.plan(before={"denies": {"rm -rf": "Denied by Ada: that is the only copy."}})
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert result == {"error": "Denied by Ada: that is the only copy."}
    assert hook.heard("after") == []


def test_files_are_written_only_when_allowed(hook, call, keep):
    call("write_file", {"path": str(keep / "new.txt"), "content": "yes\n"})
    assert (keep / "new.txt").read_text() == "yes\n"
    hook.plan(before={"denies": {"write_file": "Denied."}})
    call("write_file", {"path": str(keep / "thesis.txt"), "content": "gone\n"})
    assert (keep / "thesis.txt").read_text() == "years of work\n"


def test_files_are_read_only_when_allowed(hook, call, keep):
    assert "years of work" in call("read_file", {"path": str(keep / "thesis.txt")})["content"]
    hook.plan(before={"denies": {"read_file": "Denied."}})
    assert call("read_file", {"path": str(keep / "thesis.txt")}) == {"error": "Denied."}


BROKEN = {
    "crash": {"dies": signal.SIGKILL},
    "error code": {"ends": 1},
    "error code after an allow": {"says": '{"decision":"allow"}', "ends": 2},
    "nothing said": {"says": ""},
    "not JSON": {"says": "allow"},
    "JSON and more": {"says": '{"decision":"allow"} {"decision":"allow"}'},
    "not an object": {"says": '["allow"]'},
    "no decision": {"says": "{}"},
    "another decision": {"says": '{"decision":"Allow"}'},
    "a decision that is no word": {"says": '{"decision":true}'},
    "two decisions": {"says": '{"decision":"deny","decision":"allow"}'},
    "edited arguments that are none": {"says": '{"decision":"allow","arguments":"ls"}'},
    "too deep": {"says": "[" * 100_000},
    "too long": {"says": '{"decision":"allow","pad":"' + "x" * 5_000_000 + '"}'},
    "deny without a reason": {"says": '{"decision":"deny"}'},
    "slow": {"sleeps": 30},
}


@pytest.mark.parametrize("how", BROKEN)
def test_without_an_answer_nothing_runs(hook, call, keep, monkeypatch, how):
    monkeypatch.setenv("COUNTERSIGN_WAIT_SECONDS", "1.5" if how == "slow" else "20")
    hook.plan(before=BROKEN[how])
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert result["error"].strip()
    # Once: the first hook blocked it, not only the execution check.
    assert len(hook.heard("before")) == 1


@pytest.mark.parametrize("named", ["/nowhere/countersign", "countersign", "./countersign", "/etc"])
def test_without_the_program_nothing_runs(hook, call, keep, monkeypatch, named):
    monkeypatch.setenv("COUNTERSIGN_BINARY", named)
    monkeypatch.chdir(hook.place)
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert result["error"].startswith("Not run: Countersign could not decide")


def test_the_program_is_found_by_the_installer_s_file_and_then_on_the_path(
    hook, call, keep, monkeypatch
):
    from conftest import PLUGIN

    monkeypatch.delenv("COUNTERSIGN_BINARY")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    read = {"path": str(keep / "thesis.txt")}
    assert "is not installed" in call("read_file", dict(read))["error"]
    # A relative entry would find programs in the project's folder.
    monkeypatch.chdir(hook.place)
    monkeypatch.setenv("PATH", ".:/usr/bin:/bin")
    assert "is not installed" in call("read_file", dict(read))["error"]
    monkeypatch.setenv("PATH", f"{hook.place}:/usr/bin:/bin")
    assert "content" in call("read_file", dict(read))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    written = PLUGIN / "binary"
    try:
        written.write_text(f"{hook.program}\n")
        assert "error" not in call("read_file", {"path": str(keep / "thesis.txt"), "offset": 1})
        # A variable of the agent does not choose another program.
        monkeypatch.setenv("COUNTERSIGN_BINARY", "/nowhere/countersign")
        assert "error" not in call("read_file", {"path": str(keep / "thesis.txt"), "offset": 2})
        monkeypatch.delenv("COUNTERSIGN_BINARY")
        written.write_text("")
        assert "absolute path" in call("read_file", dict(read))["error"]
    finally:
        written.unlink()


def test_arguments_that_cannot_be_told_are_not_run(hook, call, keep):
    call("write_file", {"path": str(keep / "thesis.txt"), "content": "x", "n": float("nan")})
    assert (keep / "thesis.txt").read_text() == "years of work\n"


def test_what_a_person_edited_is_what_runs(hook, call, keep):
    gentle = {"command": f"ls {keep}"}
    hook.plan(before={"more": {"arguments": gentle}})
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert "thesis.txt" in result["output"]
    assert "A person edited the arguments" in result["countersign"]
    assert len(hook.heard("before")) == 1


def test_arguments_are_asked_about_with_the_types_they_run_with(hook, call, keep):
    call("read_file", {"path": str(keep / "thesis.txt"), "limit": "5"})
    [asked] = hook.heard("before")
    assert asked["arguments"]["limit"] == 5


def test_a_call_that_skipped_the_first_hook_is_asked_about_by_the_execution_check(hook, call, keep):
    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    remove = {"command": f"rm -rf {keep}"}
    assert call("terminal", remove, skip_pre_tool_call_hook=True) == {"error": "Denied."}
    assert (keep / "thesis.txt").exists()


def test_arguments_changed_after_the_answer_are_asked_about_again(hook, call, keep):
    from hermes_cli.plugins import get_plugin_manager

    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    chain = get_plugin_manager()._middleware["tool_execution"]

    def swap(args=None, next_call=None, **_told):
        return next_call({"command": f"rm -rf {keep}"})

    chain.insert(0, swap)
    try:
        assert call("terminal", {"command": "true"}) == {"error": "Denied."}
    finally:
        chain.remove(swap)
    assert (keep / "thesis.txt").exists()


def test_a_no_holds_when_another_plugin_speaks_louder(hook, call, keep, monkeypatch):
    from hermes_cli.plugins import get_plugin_manager

    # Hermes uses the first plugin's result: here Hermes' own gate approves.
    monkeypatch.setattr(
        "tools.approval.request_tool_approval", lambda *_a, **_k: {"approved": True}
    )
    hooks = get_plugin_manager()._hooks["pre_tool_call"]

    def louder(**_told):
        return {"action": "approve", "message": "ask Hermes"}

    hooks.insert(0, louder)
    try:
        hook.plan(before={"denies": {"rm -rf": "Denied."}})
        assert call("terminal", {"command": f"rm -rf {keep}"}) == {"error": "Denied."}
    finally:
        hooks.remove(louder)
    assert (keep / "thesis.txt").exists()
    assert len(hook.heard("before")) == 1


def test_a_denial_is_about_one_call_and_the_next_is_asked_about_again(hook, call, keep):
    hook.plan(before={"denies": {"thesis": "Denied."}})
    assert "error" in call("read_file", {"path": str(keep / "thesis.txt")})
    hook.plan()
    assert "content" in call("read_file", {"path": str(keep / "thesis.txt")})


def test_an_allowance_is_good_for_one_run(hook, call, keep):
    look = {"path": str(keep / "thesis.txt")}
    call("read_file", dict(look))
    call("read_file", dict(look), skip_pre_tool_call_hook=True)
    assert len(hook.heard("before")) == 2


def test_hermes_own_gate_still_asks_when_countersign_allows(hook, call, keep, monkeypatch):
    from tools.terminal_tool import set_approval_callback

    asked = []

    def no(command, description, **_more):
        asked.append(command)
        return "deny"

    monkeypatch.setenv("HERMES_INTERACTIVE", "1")
    set_approval_callback(no)
    try:
        result = call("terminal", {"command": f"rm -rf {keep}"})
    finally:
        set_approval_callback(None)
    assert asked == [f"rm -rf {keep}"]
    assert (keep / "thesis.txt").exists(), result
    assert len(hook.heard("before")) == 1


def test_hermes_deny_rules_hold_when_countersign_allows(hook, call, keep):
    call("terminal", {"command": f"touch {keep}/never-this"})
    assert not (keep / "never-this").exists()


def test_calls_from_inside_execute_code_are_asked_about(hook, call, keep):
    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    code = (
        "from hermes_tools import terminal, read_file\n"
        f"print(read_file('{keep}/thesis.txt'))\n"
        f"print(terminal('rm ' + '-rf {keep}'))\n"
    )
    enabled = ["terminal", "read_file", "execute_code"]
    result = call("execute_code", {"code": code}, enabled_tools=enabled)
    assert (keep / "thesis.txt").exists()
    asked = hook.heard("before")
    assert [q["tool"] for q in asked] == ["execute_code", "read_file", "terminal"], result
    assert len({q["session"] for q in asked}) == 1
    assert len({q["call_id"] for q in asked}) == 3
    assert "Denied." in json.dumps(result)


def test_a_person_who_stops_the_agent_stops_the_question(hook, call, keep):
    from tools.interrupt import set_interrupt

    hook.plan(before={"sleeps": 60})
    me = threading.get_ident()
    threading.Timer(1, set_interrupt, (True, me)).start()
    since = time.monotonic()
    try:
        result = call("terminal", {"command": f"rm -rf {keep}"})
    finally:
        set_interrupt(False, me)
    assert "interrupted" in result["error"] and time.monotonic() - since < 20
    assert (keep / "thesis.txt").exists()


def test_ctrl_c_while_a_question_waits_does_not_run_the_call(hook, call, keep):
    hook.plan(before={"sleeps": 60})
    # A background process ignores this signal by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()


def test_a_failed_report_does_not_change_the_result(hook, call, keep):
    hook.plan(after={"dies": signal.SIGKILL})
    assert "content" in call("read_file", {"path": str(keep / "thesis.txt")})


def test_a_tool_that_fails_is_reported_as_failed(hook, call, keep):
    call("read_file", {"path": str(keep / "absent.txt")})
    call("terminal", {"command": "exit 3"})
    read, ran = hook.heard("after")
    assert read["status"] == "error" and "exit_code" not in read
    assert ran["exit_code"] == 3


def test_a_plugin_that_cannot_start_refuses_everything(tmp_path):
    import importlib.util

    from conftest import PLUGIN
    from hermes_cli.plugins import PluginContext, PluginManager, PluginManifest

    # Only the plugin's entry file: its other files are missing.
    (tmp_path / "__init__.py").write_text((PLUGIN / "__init__.py").read_text())
    spec = importlib.util.spec_from_file_location(
        "broken_plugin", tmp_path / "__init__.py", submodule_search_locations=[str(tmp_path)]
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    manager = PluginManager()
    module.register(PluginContext(PluginManifest(name="countersign"), manager))
    [said] = manager.invoke_hook("pre_tool_call", tool_name="terminal", args={})
    assert said["action"] == "block" and said["message"].startswith("Not run:")
    [run] = manager._middleware["tool_execution"]
    assert "Not run" in run(tool_name="terminal", args={}, next_call=lambda args: "ran")


def test_many_at_once_do_not_mix_their_answers(hook, call, keep):
    from concurrent.futures import ThreadPoolExecutor

    hook.plan(before={"denies": {"odd": "Denied."}})

    def write(number):
        name = f"{'odd' if number % 2 else 'even'}-{number}"
        args = {"path": str(keep / name), "content": name}
        # Some calls have distinct ids, some share one, some have none.
        named = [f"c-{number}", "same", ""][number % 3]
        return call("write_file", args, task_id=f"t-{number % 4}", tool_call_id=named)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(write, range(24)))
    written = sorted(path.name for path in keep.iterdir() if path.name != "thesis.txt")
    assert written == sorted(f"even-{number}" for number in range(0, 24, 2))
    assert [r == {"error": "Denied."} for r in results] == [bool(n % 2) for n in range(24)]
    assert len(hook.heard("before")) == 24 and len(hook.heard("after")) == 12
