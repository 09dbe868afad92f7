/**
 * LangChain 1: a middleware that gates the tools of an agent.
 *
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [countersign()] });
 * ```
 *
 * Put it last in the list: a middleware behind it could change an approved call.
 */

import { AIMessage, createMiddleware, ToolMessage } from "langchain";

import type { Call } from "../call.js";
import { Countersign } from "../client.js";
import { Turns } from "../turns.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/**
 * The middleware. A denied call is not run, and its tool message says who denied it and why.
 * Parallel calls of the model are one group for people: calls that may run in parallel do, the
 * others keep their order. Without a `session` the thread's id is used.
 */
export function countersign(options: AdapterOptions = {}): ReturnType<typeof createMiddleware> {
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  const turns = new Turns(client);
  return createMiddleware({
    name: "countersign",
    wrapToolCall: async (request, handler) => {
      const { toolCall, runtime } = request;
      const { name } = toolCall;
      const session = call.session ?? threadOf(runtime);
      const asked = (one: Proposed): Call => {
        return { ...call, session, tool: one.name, arguments: one.args, callId: one.id };
      };
      const attempt = await turns.attempt(
        asked(toolCall),
        siblings(request.state, toolCall.id).map(asked),
        (args) => handler({ ...request, toolCall: { ...toolCall, args } }),
        { signal: signalOf(runtime), onWaiting, patienceSeconds, failed: isError },
      );
      if (attempt.ran) return attempt.value;
      const content = attempt.refusal.message;
      return new ToolMessage({ content, name, tool_call_id: toolCall.id ?? "", status: "error" });
    },
  });
}

/** A call as the model made it. */
interface Proposed {
  readonly name: string;
  readonly args: object;
  readonly id?: string | undefined;
}

/** The calls that the model made in one message with this one. */
function siblings(state: unknown, id: string | undefined): Proposed[] {
  const { messages } = (state ?? {}) as { messages?: unknown };
  const all = Array.isArray(messages) ? (messages as unknown[]) : [];
  const last = all.filter((one) => AIMessage.isInstance(one)).at(-1);
  const calls: Proposed[] = last?.tool_calls ?? [];
  return calls.some((one) => one.id === id) ? calls : [];
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
