"""A sample server of the official A2A SDK over mutual TLS. Prints its port.

sdk_server.py CERTIFICATE KEY AUTHORITY
"""

import base64
import socket
import ssl
import sys

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers.default_request_handler_v2 import DefaultRequestHandlerV2
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.server.tasks.task_updater import TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.utils.signing import create_agent_card_signer
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        text = "sdk:" + context.get_user_input()
        await updater.add_artifact([new_text_part(text)])
        await updater.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def main():
    certificate, key, authority = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    card = AgentCard(
        name="sdk sample",
        description="Repeats",
        version="1",
        supported_interfaces=[
            AgentInterface(
                url=f"https://127.0.0.1:{port}/a2a/rpc",
                protocol_binding="JSONRPC",
                protocol_version="1.0",
            )
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Repeats", tags=["echo"])],
    )
    with open(key, "rb") as private, open(certificate) as public:
        chain = [base64.b64encode(ssl.PEM_cert_to_DER_cert(public.read())).decode()]
        header = {"alg": "ES256", "typ": "JOSE", "kid": "sdk", "x5c": chain}
        card = create_agent_card_signer(private.read(), header)(card)
    handler = DefaultRequestHandlerV2(Echo(), InMemoryTaskStore(), card)
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/a2a/rpc")
    config = uvicorn.Config(
        Starlette(routes=routes),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        ssl_ca_certs=authority,
        ssl_cert_reqs=ssl.CERT_REQUIRED,
        log_level="error",
    )
    print(port, flush=True)
    uvicorn.Server(config).run(sockets=[listener])


main()
