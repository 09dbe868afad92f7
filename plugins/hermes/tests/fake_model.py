"""A fake model: an OpenAI-style server on this machine, with the answers of a test."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """Each answer is a text, or a list of (call id, tool, arguments)."""

    def __init__(self, *answers):
        self.answers, self.heard, self.heard_at = list(answers), [], []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not self.path.endswith("/chat/completions"):
                    return self.send_error(404)
                model.heard.append(asked)
                model.heard_at.append(time.monotonic())
                said = model.answers.pop(0) if model.answers else "Done."
                stream = bool(asked.get("stream"))
                body = streamed(said) if stream else json.dumps(whole(said)).encode()
                self.send_response(200)
                kind = "text/event-stream" if stream else "application/json"
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def message(said):
    """What the model says, as a message."""
    if isinstance(said, str):
        return {"role": "assistant", "content": said}
    calls = [
        {
            "index": at,
            "id": call_id,
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)},
        }
        for at, (call_id, tool, arguments) in enumerate(said)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def reason(said):
    return "stop" if isinstance(said, str) else "tool_calls"


def whole(said):
    """The answer in one piece."""
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "message": message(said), "finish_reason": reason(said)}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def streamed(said):
    """The answer as events."""
    first = whole(said) | {"object": "chat.completion.chunk"}
    first["choices"] = [{"index": 0, "delta": message(said), "finish_reason": None}]
    last = dict(first, choices=[{"index": 0, "delta": {}, "finish_reason": reason(said)}])
    parts = [f"data: {json.dumps(part)}\n\n" for part in (first, last)]
    return ("".join(parts) + "data: [DONE]\n\n").encode()
