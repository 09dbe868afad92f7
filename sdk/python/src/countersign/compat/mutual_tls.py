"""The original names for mutual TLS between agents: requests and responses, without tasks.

Both ends need a certificate of the fleet that is not revoked. The list of revoked certificates
comes from the daemon with the fleet's authority; without a current list no end is accepted. What a
route does is not asked about: only tasks (``A2ATaskServer``) pass the gate.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import ssl
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .. import wire
from ..endpoint import Endpoint, agent_endpoint
from ..errors import CountersignError

#: What precedes the agent's name in the certificate.
_AGENT = "urn:countersign:agent:"
#: How long a list of revoked certificates is used before the next one is fetched, in seconds.
_REFRESH = 15.0
_LONGEST_BODY = 256 << 10
_PATIENCE = 30.0

#: A route gets the request's JSON object and the peer's name, and returns a JSON object.
Route = Callable[..., dict[str, Any]]


class _Trust:
    """The contexts of both ends, with a current list of revoked certificates."""

    def __init__(self, cert: str | Path, key: str | Path, ca: str | Path) -> None:
        self._files = (os.fspath(cert), os.fspath(key), os.fspath(ca))
        self._lock = threading.Lock()
        self._list = ""
        self._at = 0.0

    def context(self, purpose: ssl.Purpose) -> ssl.SSLContext:
        cert, key, ca = self._files
        context = ssl.create_default_context(purpose, cafile=ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        # Certificates of a fleet have no key identifier of their authority.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.load_cert_chain(cert, key)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(self._revocations())
            file.flush()
            context.load_verify_locations(cafile=file.name)
        return context

    def _revocations(self) -> str:
        """The list in PEM: a new one, or the last one if the daemon does not answer.

        An expired list lets no handshake succeed.
        """
        with self._lock:
            if not self._list or time.monotonic() - self._at > _REFRESH:
                try:
                    self._list, self._at = _fetched_list(), time.monotonic()
                except CountersignError:
                    if not self._list:
                        raise
            return self._list


def _fetched_list() -> str:
    named = os.environ.get("COUNTERSIGN_A2A_AUTHORITY")
    endpoint = Endpoint.parse(named) if named else agent_endpoint(has_token=False)
    connection = wire.Connection(endpoint, None, signed=False)
    exchange = wire.Exchange("GET", "/v1/pki/revocations", public=True)
    answer = wire.drive(wire.said(exchange), connection)
    try:
        found = base64.b64decode(json.loads(answer.text)["list"], validate=True)
    except (ValueError, KeyError, TypeError):
        raise CountersignError("the daemon sent no list of revoked certificates") from None
    text = base64.encodebytes(found).decode()
    return f"-----BEGIN X509 CRL-----\n{text}-----END X509 CRL-----\n"


def _agent(certificate: Any) -> str | None:
    """The one agent that a certificate names."""
    names = (certificate or {}).get("subjectAltName", ())
    found = [text for kind, text in names if kind == "URI" and text.startswith(_AGENT)]
    return found[0].removeprefix(_AGENT) if len(found) == 1 else None


class A2AMTLSServer:
    """Serves routes over mutual TLS to peers with an accepted certificate only."""

    def __init__(
        self,
        cert: str | Path,
        key: str | Path,
        ca: str | Path,
        host: str = "127.0.0.1",
        port: int = 9443,
    ) -> None:
        self.host, self.port = host, port
        self._trust = _Trust(cert, key, ca)
        self._routes: dict[str, Route] = {}
        self._server: ThreadingHTTPServer | None = None

    def add_route(self, path: str, handler: Route) -> None:
        """Calls ``handler(payload, peer_cn=…)`` for each request to this path."""
        self._routes[path] = handler

    def __enter__(self) -> A2AMTLSServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts to serve; with port 0 the port is then in ``port``."""
        self._trust.context(ssl.Purpose.CLIENT_AUTH)
        server = _server(self)
        self.port = server.server_address[1]
        self._server = server
        threading.Thread(target=server.serve_forever, daemon=True, name="a2a-mtls").start()

    def stop(self) -> None:
        """Stops."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answered(self, path: str, payload: dict[str, Any], peer: str) -> tuple[int, Any]:
        route = self._routes.get(path.partition("?")[0])
        if route is None:
            return 404, {"error": "not found"}
        try:
            return 200, route(payload, peer_cn=peer)
        except Exception as error:
            return 500, {"error": str(error)}


def _server(owner: A2AMTLSServer) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _PATIENCE

        def setup(self) -> None:
            # The handshake is in the connection's own thread, with the list of now.
            self.request.settimeout(_PATIENCE)
            context = owner._trust.context(ssl.Purpose.CLIENT_AUTH)
            self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle_one_request(self) -> None:
            super().handle_one_request()
            self.close_connection = True

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > _LONGEST_BODY:
                self._say(413, {"error": "the body is too long or has no length"})
                return
            try:
                payload = json.loads(self.rfile.read(int(length)) or b"{}")
            except ValueError:
                payload = None
            if isinstance(payload, dict):
                self._answer(payload)
            else:
                self._say(400, {"error": "the body is not a JSON object"})

        def _answer(self, payload: dict[str, Any]) -> None:
            peer = _agent(self.request.getpeercert())
            if peer is None:
                self._say(403, {"error": "the certificate names no agent"})
            else:
                self._say(*owner._answered(self.path, payload, peer))

        def _say(self, status: int, body: Any) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            # A refused handshake ends its own connection and nothing else.
            pass

        def shutdown_request(self, request: Any) -> None:
            with contextlib.suppress(OSError):
                super().shutdown_request(request)

    return Server((owner.host, owner.port), Handler)


class A2AMTLSClient:
    """Requests over mutual TLS; responses are JSON objects."""

    def __init__(self, cert: str | Path, key: str | Path, ca: str | Path) -> None:
        self._trust = _Trust(cert, key, ca)

    def _request(self, method: str, url: str, data: bytes | None = None) -> dict[str, Any]:
        if not url.startswith("https://"):
            raise ValueError(f"`{url}` is not an https address; agents talk over mutual TLS only")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        secure = urllib.request.HTTPSHandler(context=self._trust.context(ssl.Purpose.SERVER_AUTH))
        opener = urllib.request.build_opener(secure, urllib.request.ProxyHandler({}), _NoRedirect)
        with opener.open(request, timeout=_PATIENCE) as reply:
            found = json.loads(reply.read(8 << 20))
        if not isinstance(found, dict):
            raise ValueError("the response is not a JSON object")
        return found

    def get(self, url: str) -> dict[str, Any]:
        """``GET``."""
        return self._request("GET", url)

    def post(self, url: str, json: dict[str, Any] | None = None) -> dict[str, Any]:
        """``POST`` with a JSON body."""
        return self._request("POST", url, _encoded(json if json is not None else {}))


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None
