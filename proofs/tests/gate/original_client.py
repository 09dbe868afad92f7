"""A client as the first daemon's agents wrote it: urllib, JSON, four addresses. It knows no tokens.

original_client.py AGENT_API PERSON_TOKEN: prints one line for each check that passes, fails otherwise.
"""
import json
import sys
import threading
import time
import urllib.error
import urllib.request

endpoint, token = sys.argv[1], sys.argv[2]


def call(method, path, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{endpoint}{path}", data=data, method=method)
    if data is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def confirm(action, description, payload=None, **more):
    body = {"action": action, "description": description, "payload": payload or {}, **more}
    return call("POST", "/confirm", body)


def holds(what, truth, seen=None):
    if not truth:
        sys.exit(f"does not hold: {what}: {seen}")
    print(what)


def pending_one():
    for _ in range(500):
        _, listed = call("GET", "/pending")
        if listed["pending"]:
            return listed["pending"][0]
        time.sleep(0.02)
    sys.exit("nothing is pending")


def asked(answers, **more):
    def run():
        to = {"to": "bo@example.org", "subject": "Report", "body": more.pop("text", "Hello.")}
        answers.append(confirm("send_email", "Sends the report to Bo.", to, **more))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


me = {"Authorization": f"Bearer {token}"}

status, health = call("GET", "/health")
holds("health", status == 200 and health["status"] == "ok" and health["pending"] == 0, health)

status, reply = confirm("web_search", "Looks something up.", {"query": "weather in Oslo"})
holds("a harmless call passes", status == 200 and reply["status"] == "auto_approved", reply)
holds("with the fields of old", set(reply) == {"request_id", "status", "decided_by"}, reply)

for answer, word in ((True, "approved"), (False, "denied")):
    answers = []
    thread = asked(answers, text=f"Hello {word}.", session_key="s-1")
    entry = pending_one()
    fields = {"request_id", "action", "description", "risk_level", "payload", "session_key",
              "created_at", "expires_at", "status", "decided_at", "decided_by", "reason",
              "is_expired", "is_pending"}
    holds("an entry of the list has the fields of old", fields <= set(entry), entry)
    said = {"request_id": entry["request_id"], "approved": answer, "decided_by": "agent"}
    status, reply = call("POST", "/respond", said)
    holds("nobody decides without a credential", status in (401, 403), reply)
    for wrong in ("false", "true", 0, 1, None, [], "yes"):
        status, reply = call("POST", "/respond", {**said, "approved": wrong}, me)
        holds(f"approved: {wrong!r} is refused", status == 400, reply)
    status, reply = call("POST", "/respond", {**said, "reason": "as planned"}, me)
    holds(f"a person says {answer}", status == 200 and reply["status"] == word, reply)
    thread.join()
    status, reply = answers[0]
    holds(f"the caller hears {word}", status == 200 and reply["status"] == word, reply)
    holds("who decided is who proved it", reply["decided_by"] == "owner", reply)
    holds("the reason arrives", reply["reason"] == "as planned", reply)

answers = []
thread = asked(answers, text="low", risk_level="low", timeout=1)
entry = pending_one()
holds("a claim of low does not pass", entry["status"] == "pending", entry)
thread.join()
holds("silence is not a yes", answers[0][1]["status"] == "expired", answers)

status, reply = confirm("", "")
holds("an empty question is refused as of old", status == 400 and "error" in reply, reply)
status, reply = call("POST", "/respond", {"request_id": "nonesuch", "approved": True}, me)
holds("an unknown request is refused as of old", status == 404 and "error" in reply, reply)
status, listed = call("GET", "/pending")
holds("nothing is left", status == 200 and listed["pending"] == [], listed)
