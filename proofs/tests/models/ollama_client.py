"""Asks by the official Ollama client what our guard asked, and prints what the client read."""

import json
import sys

import ollama

address, asked = sys.argv[1], json.loads(sys.argv[2])
client = ollama.Client(host=address)
reply = client.generate(
    model=asked["model"],
    prompt=asked["prompt"],
    raw=True,
    stream=False,
    options=asked.get("options"),
)
print(json.dumps({"response": reply.response, "done": reply.done, "reason": reply.done_reason}))
