"""A fake `countersign hook plugin`: gives the answers of a test and records its input."""

import json
import os
import sys
import time
from pathlib import Path

place = Path(os.environ["STAND_IN"])
raw = sys.stdin.read()
*words, patience = sys.argv[1:]
if words != ["hook", "plugin", "--agent", "hermes", "--patience"] or not patience.isdigit():
    sys.exit(64)
question = json.loads(raw)
# One write of one line, because several processes may run at once.
line = json.dumps(question | {"at": time.monotonic()}) + "\n"
with open(place / "heard", "a", buffering=1) as heard:
    heard.write(line)

plan = json.loads((place / "plan.json").read_text()).get(question["event"], {})
if "dies" in plan:
    os.kill(os.getpid(), plan["dies"])
time.sleep(plan.get("sleeps", 0))


def decide(call):
    for part, reason in plan.get("denies", {}).items():
        if part in json.dumps(call):
            return {"decision": "deny", "reason": reason}
    return {"decision": "allow", **plan.get("more", {})}


if "says" in plan:
    sys.stdout.write(plan["says"])
elif question["event"] == "before":
    print(json.dumps(decide(question)))
elif question["event"] == "batch":
    calls = question["calls"]
    stages = plan.get("stages", [list(range(len(calls)))])
    print(json.dumps({"stages": stages, "decisions": [decide(call) for call in calls]}))
elif question["event"] == "message":
    print(json.dumps({"card": plan.get("card")}))
else:
    print("{}")
sys.stdout.flush()
sys.exit(plan.get("ends", 0))
