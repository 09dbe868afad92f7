"""Whole turns of a real Hermes agent, with a fake model: batches, order, messages."""

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import pytest
from conftest import results

CARD = "You are not alone. Call 112, or 988 in the United States."


def test_a_single_call_is_asked_about_by_itself(hook, turn, keep):
    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    done = turn("tidy up", [("c1", "terminal", {"command": f"rm -rf {keep}"})], "I could not.")
    assert done.said == "I could not."
    assert (keep / "thesis.txt").exists()
    assert json.loads(results(done)["c1"])["error"] == "Denied."
    [asked] = hook.heard("before")
    assert asked["named"] == "c1" and asked["session"] == done.agent.session_id
    assert hook.heard("batch") == []


def test_the_calls_of_one_turn_are_asked_about_together(hook, turn, keep):
    hook.plan(batch={"denies": {"rm -rf": "Denied."}})
    done = turn(
        "look around",
        [
            ("c1", "read_file", {"path": str(keep / "thesis.txt")}),
            ("c2", "terminal", {"command": f"rm -rf {keep}"}),
            ("c3", "search_files", {"pattern": "years", "path": str(keep)}),
        ],
    )
    assert (keep / "thesis.txt").exists()
    [batch] = hook.heard("batch")
    assert [c["named"] for c in batch["calls"]] == ["c1", "c2", "c3"]
    assert batch["session"] == done.agent.session_id and batch["cwd"]
    assert hook.heard("before") == []
    given = results(done)
    assert "years of work" in given["c1"] and "Denied." in given["c2"]
    assert sorted(q["named"] for q in hook.heard("after")) == ["c1", "c3"]


@pytest.mark.parametrize(
    "plan",
    [
        {"ends": 1},
        {"says": "{}"},
        {"says": '{"stages":[[0,1]],"decisions":[{"decision":"allow"}]}'},
        {"says": '{"stages":[[0,0]],"decisions":[{"decision":"allow"},{"decision":"allow"}]}'},
        {"says": '{"decisions":[{"decision":"allow"},{"decision":"allow"}]}'},
        {"says": '{"stages":[[0,1]],"decisions":[{"decision":"allow"},{"decision":"maybe"}]}'},
    ],
    ids=["error code", "empty", "too few", "wrong order", "no order", "unknown decision"],
)
def test_a_batch_without_a_whole_answer_does_not_run(hook, turn, keep, plan):
    hook.plan(batch=plan)
    done = turn(
        "tidy up",
        [
            ("c1", "write_file", {"path": str(keep / "thesis.txt"), "content": "gone"}),
            ("c2", "terminal", {"command": f"rm -rf {keep}"}),
        ],
    )
    assert (keep / "thesis.txt").read_text() == "years of work\n"
    given = results(done)
    assert len(given) == 2 and all("Not run" in text for text in given.values())


def test_a_batch_s_edited_arguments_are_what_runs(hook, turn, keep):
    read = {"path": str(keep / "thesis.txt")}
    hook.plan(batch={"more": {"arguments": read}})
    calls = [("c1", "read_file", dict(read)), ("c2", "read_file", {"path": "/etc/passwd"})]
    given = results(turn("read", calls))
    assert "root:" not in given["c2"] and "A person edited" in given["c2"]
    assert "A person changed" not in given["c1"]


@pytest.mark.parametrize("stages", [[[0, 1]], [[0], [1]]], ids=["at once", "in order"])
def test_calls_side_by_side_keep_the_order_countersign_gave(hook, turn, keep, monkeypatch, stages):
    # Hermes would run both at once.
    calls = [
        ("c1", "read_file", {"path": str(keep / "thesis.txt")}),
        ("c2", "search_files", {"pattern": "years", "path": str(keep)}),
    ]
    seen = []
    second_started = threading.Event()
    # In order, the second must not start however long the first takes: a short wait is enough to see it.
    patience = 60 if len(stages) == 1 else 0.7
    from tools.registry import registry

    dispatch = registry.dispatch

    def slow_first(name, args, **more):
        seen.append(f"{name} starts")
        if name == "read_file":
            second_started.wait(patience)
        else:
            second_started.set()
        result = dispatch(name, args, **more)
        seen.append(f"{name} ends")
        return result

    monkeypatch.setattr(registry, "dispatch", slow_first)
    hook.plan(batch={"stages": stages})
    given = results(turn("look", calls))
    assert "years" in given["c1"] and "thesis" in given["c2"]
    first = seen.index("read_file ends") < seen.index("search_files starts")
    assert first == (len(stages) == 2), seen


def test_a_call_that_follows_a_denied_one_does_not_wait(hook, turn, keep):
    hook.plan(batch={"stages": [[0], [1]], "denies": {"read_file": "Denied."}})
    calls = [
        ("c1", "read_file", {"path": str(keep / "thesis.txt")}),
        ("c2", "search_files", {"pattern": "years", "path": str(keep)}),
    ]
    given = results(turn("look", calls))
    assert "Denied." in given["c1"] and "thesis" in given["c2"]


def test_a_folder_changed_in_between_is_asked_about_again(hook, turn, keep):
    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    calls = [
        ("c1", "terminal", {"command": f"cd {keep}"}),
        ("c2", "terminal", {"command": "rm -rf ./thesis.txt"}),
    ]
    turn("go", calls)
    assert (keep / "thesis.txt").exists()
    [asked] = hook.heard("before")
    assert asked["named"] == "c2" and asked["cwd"] == str(keep)


def test_a_subagent_s_calls_belong_to_the_session_that_started_it(hook, turn, keep):
    from tools import delegate_tool

    hook.plan(before={"denies": {"rm -rf": "Denied."}})
    done = turn("hello", "Hi.")
    done.model.answers[:] = [[("d1", "terminal", {"command": f"rm -rf {keep}"})], "Could not."]
    done.agent._current_task_id = "parent"
    said = delegate_tool.delegate_task(goal="tidy up", parent_agent=done.agent, background=False)
    assert (keep / "thesis.txt").exists(), said
    [asked] = hook.heard("before")
    assert asked["named"] == "d1" and asked["session"] == done.agent.session_id


def test_a_crisis_is_answered_with_the_card_before_the_model_is_asked(hook, turn, capfd):
    hook.plan(message={"card": CARD})
    done = turn("I want to end it all", "I am here.", platform="cli")
    [asked] = hook.heard("message")
    assert asked["text"] == "I want to end it all"
    assert asked["session"] == done.agent.session_id
    # At once where errors are seen, and certainly before the answer.
    assert CARD in capfd.readouterr().err
    assert done.said == f"{CARD}\n\nI am here."
    assert "Countersign has just shown" in json.dumps(done.model.heard[0]["messages"])


@pytest.fixture
def terminal(monkeypatch):
    """What somebody at Hermes' own terminal interface is shown, with the time."""
    import sys

    from hermes_cli.plugins import get_plugin_manager

    shown = []
    stand_in = SimpleNamespace(_cprint=lambda text: shown.append((text.strip(), time.monotonic())))
    monkeypatch.setitem(sys.modules, "cli", stand_in)
    monkeypatch.setattr(get_plugin_manager(), "_cli_ref", object())
    return shown


def test_somebody_at_the_terminal_sees_the_card_at_once(hook, turn, terminal):
    hook.plan(message={"card": CARD})
    done = turn("I want to end it all", "I am here.", platform="cli")
    [(card, at)] = terminal
    assert card == CARD and done.said == "I am here."
    assert at < done.model.heard_at[0], "before the model is even asked"


def test_somebody_at_the_terminal_is_told_that_a_call_waits(hook, turn, keep, terminal):
    hook.plan(before={"sleeps": 2.5})
    turn("look", [("c1", "read_file", {"path": str(keep / "thesis.txt")})])
    [(said, _at)] = terminal
    assert said == "Countersign: read_file is pending. Decide with `countersign inbox`."


class Chat:
    """A fake adapter of a chat platform and its gateway."""

    def __init__(self, works=True):
        self.sent, self.works = [], works

    def _adapter_for_source(self, _source):
        return self

    async def send(self, chat, text, metadata=None):
        self.sent.append((chat, text, metadata))
        return SimpleNamespace(success=self.works)


def through_chat(turn, chat, words, person="7", heard_as=None):
    """A message through Hermes' own hook for chats, then the turn it leads to."""
    from hermes_cli.plugins import invoke_hook

    source = SimpleNamespace(
        platform=SimpleNamespace(value="telegram"), user_id=person, chat_id="c", thread_id="t"
    )
    event = SimpleNamespace(text=words, source=source)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def arrives():
        return invoke_hook("pre_gateway_dispatch", event=event, gateway=chat, session_store=None)

    try:
        said = asyncio.run_coroutine_threadsafe(arrives(), loop).result(5)
        assert said == [], "the message goes on unchanged"
        more = {"platform": "telegram", "user_id": person}
        return turn(heard_as or words, "I am here.", **more)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


def test_a_crisis_in_a_chat_is_answered_in_that_chat(hook, turn):
    hook.plan(message={"card": CARD})
    chat = Chat()
    words = "I want to end it all"
    done = through_chat(turn, chat, words, heard_as=f"[Ada] {words}")
    assert chat.sent == [("c", CARD, {"thread_id": "t"})]
    assert done.said == "I am here."


def test_a_card_the_chat_did_not_take_comes_with_the_answer(hook, turn):
    hook.plan(message={"card": CARD})
    done = through_chat(turn, Chat(works=False), "I want to end it all now")
    assert done.said == f"{CARD}\n\nI am here."


def test_ordinary_messages_go_on_untouched(hook, turn):
    done = turn("good morning", "Good morning.", platform="cli")
    assert done.said == "Good morning."
    assert len(hook.heard("message")) == 1
    assert "Countersign" not in json.dumps(done.model.heard[0]["messages"])


def test_a_message_that_cannot_be_screened_still_reaches_the_agent(hook, turn):
    hook.plan(message={"ends": 3})
    assert turn("good morning", "Good morning.", platform="cli").said == "Good morning."
