"""A confirmation daemon as small as the first one was: aiohttp, memory only, answers of the same shape.

seed_daemon.py: listens on a port of its own and prints it. A yardstick, never to be used as a gate:
it believes the caller's own word for the risk.
"""
import asyncio
import dataclasses
import sys
import threading
import time
import uuid

from aiohttp import web


@dataclasses.dataclass
class Request:
    request_id: str
    action: str
    description: str
    risk_level: str
    payload: dict
    session_key: str
    expires_at: float
    status: str
    decided_at: float
    decided_by: str
    reason: str = ""


class Daemon:
    def __init__(self):
        self.lock = threading.Lock()
        self.history = []

    async def confirm(self, request):
        try:
            body = await request.json()
        except Exception:
            return web.json_response({"error": "invalid JSON"}, status=400)
        action, description = body.get("action", ""), body.get("description", "")
        if not action or not description:
            return web.json_response({"error": "action and description required"}, status=400)
        if body.get("risk_level") != "low":
            return web.json_response({"error": "only measured for what passes"}, status=501)
        now = time.time()
        made = Request(
            request_id=str(uuid.uuid4())[:12],
            action=action,
            description=description,
            risk_level="low",
            payload=body.get("payload", {}),
            session_key=body.get("session_key", ""),
            expires_at=now + (body.get("timeout") or 300),
            status="auto_approved",
            decided_at=now,
            decided_by="whitelist",
        )
        with self.lock:
            self.history.append(made)
        return web.json_response(
            {"request_id": made.request_id, "status": made.status, "decided_by": made.decided_by}
        )


async def main():
    app = web.Application()
    app.router.add_post("/confirm", Daemon().confirm)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(site._server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)
