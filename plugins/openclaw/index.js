/**
 * Countersign for OpenClaw: asks about every tool call before it runs. A denial blocks the call, and
 * the model reads the reason. The build appends ../shared/ask.js.
 */

const AGENT = "openclaw";
/** Running calls, as they were asked about. */
const running = new Map();

export default {
  id: "countersign",
  name: "Countersign",
  description: "Asks a person before a risky tool call runs.",
  register(api) {
    // Last of all plugins: another plugin must not change the call after its approval. The timeout
    // is longer than ours, so that a denial always has our reason.
    const order = { priority: Number.MIN_SAFE_INTEGER, timeoutMs: PATIENCE + MINUTE };
    api.on("before_tool_call", before, order);
    api.on("after_tool_call", after);
  },
};

async function before(event, context) {
  try {
    const call = {
      tool: event.toolName,
      arguments: event.params,
      session: context?.sessionKey ?? context?.sessionId,
      call_id: event.toolCallId ?? context?.toolCallId,
    };
    const approved = await ask(AGENT, call, context?.abortSignal);
    if (call.call_id !== undefined) running.set(call.call_id, call);
    // The oldest entry is dropped, because some calls never end.
    if (running.size > 1000) running.delete(running.keys().next().value);
    // OpenClaw merges these into the old ones, so removed arguments must be set to undefined.
    const gone = Object.keys(event.params).filter((key) => !Object.hasOwn(approved, key));
    return { params: { ...approved, ...Object.fromEntries(gone.map((key) => [key, undefined])) } };
  } catch (error) {
    return { block: true, blockReason: error instanceof Error ? error.message : "Denied." };
  }
}

async function after(event, context) {
  const id = event.toolCallId ?? context?.toolCallId;
  const call = running.get(id);
  // Without an id, or never allowed: there is nothing to report.
  if (call === undefined) return;
  running.delete(id);
  const code = event.result?.details?.exitCode;
  const exit = typeof code === "number" ? { exit_code: code } : {};
  const status = event.error || code ? "error" : "ok";
  report(AGENT, { ...call, status, duration_ms: event.durationMs, ...exit });
}
