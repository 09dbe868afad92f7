"""A real mail server (aiosmtpd) that says what it got, one JSON object a line.

mailbox.py SETTINGS, a JSON object: "answers" (to the first letters), "hangs" (so many letters are
never answered), "tls" ("implicit" or "starttls") with "certificate" and "key", "user", "password".
"""

import asyncio
import email
import email.policy
import json
import logging
import socket
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

settings = json.loads(sys.argv[1])
logging.disable(logging.CRITICAL)


def say(**what):
    print(json.dumps(what), flush=True)


class Mailbox:
    def __init__(self):
        self.answers = settings.get("answers", [])
        self.hangs = settings.get("hangs", 0)

    async def handle_DATA(self, server, session, envelope):
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        say(
            sender=envelope.mail_from,
            to=envelope.rcpt_tos,
            headers=[[name, str(value)] for name, value in letter.items()],
            defects=[repr(defect) for defect in letter.defects],
            type=letter.get_content_type(),
            text=letter.get_content(),
            secret=server.transport.get_extra_info("ssl_object") is not None,
            user=session.auth_data,
        )
        if self.hangs:
            self.hangs -= 1
            await asyncio.sleep(600)
        return self.answers.pop(0) if self.answers else "250 taken"


def login(server, session, envelope, mechanism, data):
    good = settings["user"].encode(), settings["password"].encode()
    if (data.login, data.password) == good:
        return AuthResult(success=True, auth_data=settings["user"])
    return AuthResult(success=False, handled=False)


options = {}
if "tls" in settings:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings["certificate"], settings["key"])
    if settings["tls"] == "implicit":
        options.update(ssl_context=context)
    else:
        options.update(tls_context=context, require_starttls=True)
if "user" in settings:
    options.update(authenticator=login, auth_required=True)
    options.update(auth_require_tls=settings["tls"] == "starttls")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
Controller(Mailbox(), hostname="127.0.0.1", port=port, **options).start()
say(port=port)
sys.stdin.read()
