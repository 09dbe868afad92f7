/**
 * Countersign for OpenCode: asks about every tool call before it runs. A denial is thrown, so that
 * OpenCode does not run the call and the model reads the reason.
 *
 * OpenCode loads everything that this file exports as a plugin, so it exports one thing. The build
 * appends ../shared/ask.js.
 */

const AGENT = "opencode";

export const Countersign = async ({ directory }) => {
  /** Calls without an answer yet; running calls with their arguments and start times. */
  const waiting = new Map();
  const running = new Map();
  return {
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const cancelled = new AbortController();
      waiting.set(callID, cancelled);
      try {
        const where = { session: sessionID, cwd: directory, call_id: callID };
        const call = { tool, arguments: structuredClone(output.args), ...where };
        replace(output, await ask(AGENT, call, cancelled.signal));
        running.set(callID, { call, start: performance.now() });
        // The oldest entry is dropped, because some calls never end.
        if (running.size > 1000) running.delete(running.keys().next().value);
      } finally {
        waiting.delete(callID);
      }
    },
    "tool.execute.after": async ({ callID }, output) => {
      const code = output?.metadata?.exit;
      const exit = typeof code === "number" ? { exit_code: code } : {};
      ended(callID, { status: code ? "error" : "ok", ...exit });
    },
    // Only this event reports a call that failed or was stopped.
    event: async ({ event }) => {
      const part = event?.properties?.part;
      if (event?.type !== "message.part.updated" || part?.type !== "tool") return;
      if (part.state?.status !== "error") return;
      waiting.get(part.callID)?.abort();
      ended(part.callID, { status: "error" });
    },
  };

  function ended(callID, outcome) {
    const known = running.get(callID);
    if (known === undefined) return;
    running.delete(callID);
    const took = Math.round(performance.now() - known.start);
    report(AGENT, { ...known.call, ...outcome, duration_ms: took });
  }
};

/** Writes the approved arguments into the object that OpenCode runs with. */
function replace(output, approved) {
  for (const key of Object.keys(output.args)) delete output.args[key];
  Object.assign(output.args, approved);
}
