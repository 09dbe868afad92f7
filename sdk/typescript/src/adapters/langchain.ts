/**
 * LangChain 1: a middleware that lets an agent run only what was approved.
 *
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [countersign()] });
 * ```
 *
 * It must stand last in the list: what stands behind it could still change an approved call.
 */

import { createMiddleware, ToolMessage } from "langchain";

import { Countersign } from "../client.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/**
 * The middleware. A refused call is not run, and its tool message says who refused and why.
 * Without a `session` the thread's id is taken.
 */
export function countersign(options: AdapterOptions = {}): ReturnType<typeof createMiddleware> {
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  return createMiddleware({
    name: "countersign",
    wrapToolCall: async (request, handler) => {
      const { toolCall, runtime } = request;
      const { name } = toolCall;
      const session = call.session ?? threadOf(runtime);
      const asked = { ...call, session, tool: name, arguments: toolCall.args, callId: toolCall.id };
      const attempt = await client.attempt(
        asked,
        (args) => handler({ ...request, toolCall: { ...toolCall, args } }),
        { signal: signalOf(runtime), onWaiting, patienceSeconds, failed: isError },
      );
      if (attempt.ran) return attempt.value;
      const content = attempt.refusal.message;
      return new ToolMessage({ content, name, tool_call_id: toolCall.id ?? "", status: "error" });
    },
  });
}

function isError(value: unknown): boolean {
  return value instanceof ToolMessage && value.status === "error";
}

function threadOf(runtime: unknown): string | undefined {
  const { configurable } = runtime as { configurable?: Record<string, unknown> };
  const thread = configurable?.["thread_id"];
  return typeof thread === "string" ? thread : undefined;
}

function signalOf(runtime: unknown): AbortSignal | undefined {
  const { signal } = runtime as { signal?: unknown };
  return signal instanceof AbortSignal ? signal : undefined;
}
