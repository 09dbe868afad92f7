"""What the conformance suite asks of a server, with the official Python SDK, over HTTP.

It need not pass everything: the suite must come to the same counts direct and through the proxy.
"""

import base64
import sys
from typing import Annotated

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from pydantic import Field

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SOUND = base64.b64encode(b"RIFF$\x00\x00\x00WAVEfmt ").decode()

server = MCPServer("conformance", instructions="For the conformance suite.")


@server.tool()
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> Image:
    """An image."""
    return Image(data=base64.b64decode(DOT), format="png")


@server.tool(structured_output=False)
def test_audio_content() -> list[types.AudioContent]:
    """A sound."""
    return [types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


def embedded():
    text = types.TextResourceContents(
        uri="test://embedded-resource", mime_type="text/plain", text="This is an embedded resource content."
    )
    return types.EmbeddedResource(type="resource", resource=text)


@server.tool(structured_output=False)
def test_embedded_resource() -> list[types.EmbeddedResource]:
    """A resource in a result."""
    return [embedded()]


@server.tool(structured_output=False)
def test_multiple_content_types() -> list[types.ContentBlock]:
    """Several kinds in a result."""
    return [
        types.TextContent(type="text", text="Multiple content types test:"),
        types.ImageContent(type="image", data=DOT, mime_type="image/png"),
        embedded(),
    ]


@server.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Reports progress."""
    for step in (0, 50, 100):
        await context.report_progress(step, 100)
    return "done"


@server.tool()
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return base64.b64decode(DOT)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:  # noqa: A002: the suite's name
    """A template."""
    return '{"id":"' + id + '","templateTest":true,"data":"Data for ID: ' + id + '"}'


@server.prompt()
def test_simple_prompt() -> str:
    """A prompt."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    """A prompt with a resource in it."""
    text = types.TextResourceContents(
        uri=resourceUri, mime_type="text/plain", text="Embedded resource content for testing."
    )
    told = types.TextContent(type="text", text="Please process the embedded resource above.")
    resource = types.EmbeddedResource(type="resource", resource=text)
    return [UserMessage(resource), UserMessage(told)]


@server.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """A prompt with an image in it."""
    image = types.ImageContent(type="image", data=DOT, mime_type="image/png")
    told = types.TextContent(type="text", text="Please analyze the image above.")
    return [UserMessage(image), UserMessage(told)]


@server.completion()
async def complete(ref, argument, context):
    """Completes words."""
    return types.Completion(values=["paris", "park", "party"], total=3, has_more=False)


@server.tool()
async def test_tool_with_logging(context: Context) -> str:
    """Logs while it runs."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.info(text)
        await anyio.sleep(0.05)
    return "logged"


@server.tool()
async def test_sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    content = types.TextContent(type="text", text=prompt)
    message = types.SamplingMessage(role="user", content=content)
    said = await context.session.create_message(messages=[message], max_tokens=100)
    return f"LLM response: {said.content.text}"


async def elicit(context, message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return await context.session.elicit_form(message, schema)


@server.tool()
async def test_elicitation(message: str, context: Context) -> str:
    """Asks the user."""
    text = {"type": "string"}
    said = await elicit(context, message, {"username": text, "email": text}, ("username", "email"))
    return f"User response: action={said.action}, content={said.content}"


@server.tool()
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Asks the user, with defaults."""
    states = ["active", "inactive", "pending"]
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    said = await elicit(context, "Please look through it", properties)
    return f"Elicitation completed: action={said.action}, content={said.content}"


@server.tool()
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Asks the user to choose."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    old = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **old},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    said = await elicit(context, "Please choose", properties)
    return f"Elicitation completed: action={said.action}, content={said.content}"


def ask_user(message, name, kind="string"):
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def ask_model(text):
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ASK_ROOTS = {"method": "roots/list", "params": {}}


def wanted(requests, state=None):
    more = {"resultType": "input_required", "inputRequests": requests}
    if state is not None:
        more["requestState"] = state
    return types.InputRequiredResult.model_validate(more)


def has(context, *names):
    given = context.input_responses or {}
    return all(name in given for name in names)


@server.tool(structured_output=False)
def test_input_required_result_elicitation(context: Context) -> str | types.InputRequiredResult:
    """Wants the user's word."""
    if has(context, "user_name"):
        return f"Hello, {context.input_responses['user_name']}"
    return wanted({"user_name": ask_user("What is your name?", "name")})


@server.tool(structured_output=False)
def test_input_required_result_sampling(context: Context) -> str | types.InputRequiredResult:
    """Wants the model's word."""
    if has(context, "capital_question"):
        return f"The model said: {context.input_responses['capital_question']}"
    return wanted({"capital_question": ask_model("What is the capital of France?")})


@server.tool(structured_output=False)
def test_input_required_result_list_roots(context: Context) -> str | types.InputRequiredResult:
    """Wants the client's folders."""
    if has(context, "client_roots"):
        return f"Roots: {context.input_responses['client_roots']}"
    return wanted({"client_roots": ASK_ROOTS})


@server.tool(structured_output=False)
def test_input_required_result_request_state(context: Context) -> str | types.InputRequiredResult:
    """Wants a word, with a state."""
    if has(context, "confirm") and context.request_state == "state-1":
        return "state-ok"
    return wanted({"confirm": ask_user("Please confirm", "ok", "boolean")}, "state-1")


@server.tool(structured_output=False)
def test_input_required_result_multiple_inputs(context: Context) -> str | types.InputRequiredResult:
    """Wants several words at once."""
    if has(context, "user_name", "greeting", "client_roots"):
        return "all there"
    asks = {"user_name": ask_user("What is your name?", "name")}
    return wanted({**asks, "greeting": ask_model("Generate a greeting"), "client_roots": ASK_ROOTS}, "several")


@server.tool(structured_output=False)
def test_input_required_result_multi_round(context: Context) -> str | types.InputRequiredResult:
    """Wants one word after the other."""
    if has(context, "step2") and context.request_state == "round-2":
        return "done"
    if has(context, "step1") and context.request_state == "round-1":
        return wanted({"step2": ask_user("Step 2: What is your favorite color?", "color")}, "round-2")
    return wanted({"step1": ask_user("Step 1: What is your name?", "name")}, "round-1")


@server.tool(structured_output=False)
def test_input_required_result_tampered_state(context: Context) -> str | types.InputRequiredResult:
    """Wants its own state back."""
    if context.request_state is None:
        return wanted({"confirm": ask_user("Please confirm", "ok", "boolean")}, "sealed")
    if context.request_state != "sealed":
        raise MCPError(code=-32602, message="the state is not what it was")
    return "state-ok"


@server.tool(structured_output=False)
def test_input_required_result_capabilities(context: Context) -> str | types.InputRequiredResult:
    """Wants only what the client can."""
    can = context.client_capabilities
    if context.input_responses:
        return "done"
    asks = {}
    if can is not None and can.elicitation is not None:
        asks["user_name"] = ask_user("What is your name?", "name")
    if can is not None and can.sampling is not None:
        asks["greeting"] = ask_model("Generate a greeting")
    return wanted(asks) if asks else "nothing to ask"


@server.prompt()
def test_input_required_result_prompt(context: Context) -> str | types.InputRequiredResult:
    """A prompt that wants a word."""
    if has(context, "user_context"):
        return f"With: {context.input_responses['user_context']}"
    return wanted({"user_context": ask_user("What context?", "context")})


@server.tool()
def read_region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Reads what a header says again."""
    return f"region {region}"


@server.tool()
def json_schema_2020_12_tool() -> str:
    """Has a schema with everything in it."""
    return "fine"


TEXT = {"type": "string"}
ADDRESS = {"$anchor": "addressDef", "type": "object", "properties": {"street": TEXT, "city": TEXT}}
# The SDK makes schemas of its own: this one is put in as it is.
server._tool_manager.get_tool("json_schema_2020_12_tool").parameters = {  # noqa: SLF001
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": TEXT,
        "email": TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def heard(context, params):
    """Enough for what only has to be heard."""
    return types.EmptyResult()


for method, kind in (
    ("logging/setLevel", types.SetLevelRequestParams),
    ("resources/subscribe", types.SubscribeRequestParams),
    ("resources/unsubscribe", types.UnsubscribeRequestParams),
):
    server._lowlevel_server.add_request_handler(method, kind, heard)  # noqa: SLF001

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
