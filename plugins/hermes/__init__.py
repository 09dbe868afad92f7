"""Countersign for Hermes: every tool call is asked about before it runs."""

import json


def register(ctx):
    """Called by Hermes once, when it loads its plugins."""
    try:
        from .gate import Gate
        from .messages import Messages

        gate = Gate()
        messages = Messages(gate.root)
        # The execution check first: if a later registration fails, it still blocks calls.
        ctx.register_middleware("tool_execution", gate.run)
        ctx.register_hook("pre_tool_call", gate.before)
        ctx.register_hook("post_tool_call", gate.ended)
        ctx.register_hook("post_api_request", gate.answered)
        ctx.register_hook("subagent_start", gate.delegated)
        ctx.register_hook("pre_gateway_dispatch", messages.arrived)
        ctx.register_hook("pre_llm_call", messages.said)
        ctx.register_hook("transform_llm_output", messages.answer)
    except Exception as error:
        # Hermes continues without a plugin that fails to load, and every call would run.
        refuse_everything(ctx, f"{type(error).__name__}: {error}")


def refuse_everything(ctx, error):
    """Blocks every call, because the gate could not be set up."""
    message = (
        "Not run: the Countersign plugin could not start, so no call can be approved "
        f"({error}). Tell the user to run `countersign doctor`."
    )

    def before(**_rest):
        return {"action": "block", "message": message}

    def run(**_rest):
        return json.dumps({"error": message})

    ctx.register_hook("pre_tool_call", before)
    if hasattr(ctx, "register_middleware"):
        ctx.register_middleware("tool_execution", run)
