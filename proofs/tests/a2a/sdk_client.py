"""The client of the official A2A SDK, over mutual TLS, against one node.

sdk_client.py URL CERTIFICATE KEY AUTHORITY BINDING
"""

import asyncio
import ssl
import sys

import httpx
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.helpers.proto_helpers import new_text_message
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    TaskState,
)


def secure(certificate, key, authority):
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    return httpx.AsyncClient(verify=context, timeout=60)


def message(text):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))


async def connect(url, files, binding, streaming):
    config = ClientConfig(
        streaming=streaming,
        polling=not streaming,
        httpx_client=secure(*files),
        supported_protocol_bindings=[binding],
    )
    return await ClientFactory(config).create_from_url(url)


async def streamed(client, text):
    """Every state of a streamed task, its id, and the texts of its artifacts."""
    states, task, texts = [], None, []
    async for event in client.send_message(message(text)):
        kind = event.WhichOneof("payload")
        if kind == "task":
            task = event.task.id
            states.append(event.task.status.state)
        elif kind == "status_update":
            states.append(event.status_update.status.state)
        elif kind == "artifact_update":
            texts += [part.text for part in event.artifact_update.artifact.parts]
    return states, task, texts


async def main():
    url, *files, binding = sys.argv[1:]
    client = await connect(url, files, binding, True)
    states, task, texts = await streamed(client, f"Stream by {binding}")
    print("states", [TaskState.Name(state) for state in states], flush=True)
    assert TaskState.TASK_STATE_AUTH_REQUIRED in states, states
    assert states[-1] == TaskState.TASK_STATE_COMPLETED, states
    assert texts == [f"analysis:Stream by {binding}"], texts
    found = await client.get_task(GetTaskRequest(id=task))
    assert found.status.state == TaskState.TASK_STATE_COMPLETED

    plain = await connect(url, files, binding, False)
    sent = [event async for event in plain.send_message(message(f"Send by {binding}"))]
    one = sent[-1].task
    print("sent", TaskState.Name(one.status.state), flush=True)
    for _ in range(600):
        one = await plain.get_task(GetTaskRequest(id=one.id))
        if one.status.state == TaskState.TASK_STATE_COMPLETED:
            break
        await asyncio.sleep(0.1)
    assert one.artifacts[0].parts[0].text == f"analysis:Send by {binding}", one

    sent = [event async for event in plain.send_message(message(f"Cancel by {binding}"))]
    gone = await plain.cancel_task(CancelTaskRequest(id=sent[-1].task.id))
    assert gone.status.state == TaskState.TASK_STATE_CANCELED, gone
    listed = await plain.list_tasks(ListTasksRequest(page_size=10))
    assert len(listed.tasks) >= 3, listed
    print("ok", flush=True)


asyncio.run(main())
