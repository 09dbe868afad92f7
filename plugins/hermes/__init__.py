"""Countersign for Hermes: every tool call is asked about before it runs."""

import json


def register(ctx):
    """Called by Hermes once, when it loads its plugins."""
    try:
        from .gate import Gate
        from .messages import Messages

        gate = Gate()
        messages = Messages(gate.root)
        # The latch first: if anything after it fails, both it and the refusal below stand.
        ctx.register_middleware("tool_execution", gate.run)
        ctx.register_hook("pre_tool_call", gate.before)
        ctx.register_hook("post_tool_call", gate.ended)
        ctx.register_hook("post_api_request", gate.answered)
        ctx.register_hook("subagent_start", gate.delegated)
        ctx.register_hook("pre_gateway_dispatch", messages.arrived)
        ctx.register_hook("pre_llm_call", messages.said)
        ctx.register_hook("transform_llm_output", messages.answer)
    except Exception as trouble:
        # Hermes goes on without a plugin that does not load, and every call would run.
        refuse_everything(ctx, f"{type(trouble).__name__}: {trouble}")


def refuse_everything(ctx, trouble):
    """Stands in for a gate that could not be set up."""
    message = (
        "Not run: the Countersign plugin could not start, so nothing can be asked "
        f"({trouble}). Tell the person; `countersign doctor` says more."
    )

    def before(**_told):
        return {"action": "block", "message": message}

    def run(**_told):
        return json.dumps({"error": message})

    ctx.register_hook("pre_tool_call", before)
    if hasattr(ctx, "register_middleware"):
        ctx.register_middleware("tool_execution", run)
