/**
 * OpenAI Agents SDK: function tools that run only what was approved.
 *
 * ```ts
 * const agent = new Agent({ name: "Mail", tools: gatedTools([sendEmail]) });
 * ```
 */

import { Countersign } from "../client.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/** What a function tool of the SDK must have. */
interface ToolLike {
  readonly type: string;
  readonly name?: string;
}

// The context and details are the SDK's own and go through unchanged.
type Invoke = (context: any, input: string, details?: any) => Promise<unknown>;

/** What the SDK says of a call beside its arguments, as far as it is used here. */
interface Details {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly callId?: string };
}

/** The same tools behind the gate. */
export function gatedTools<T extends ToolLike>(
  tools: readonly T[],
  options: AdapterOptions = {},
): T[] {
  return tools.map((tool) => gatedTool(tool, options));
}

/**
 * The same tool behind the gate. A refusal is what the tool answers, so the model reads who
 * refused and why, and the run goes on. What the model wrote as arguments is sent as it stands.
 * Tools that run at the provider cannot be held here and are not taken.
 */
export function gatedTool<T extends ToolLike>(tool: T, options: AdapterOptions = {}): T {
  const invoke = (tool as { invoke?: unknown }).invoke;
  const name = tool.name;
  if (tool.type !== "function" || typeof invoke !== "function" || name === undefined) {
    throw new TypeError(`${name ?? tool.type} is no function tool, so it cannot be held here`);
  }
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  const held: Invoke = async (context, input, details: Details | undefined) => {
    const args = input.trim() === "" ? "{}" : input;
    const asked = { ...call, tool: name, arguments: args, callId: details?.toolCall?.callId };
    const attempt = await client.attempt(
      asked,
      (_, approval) => {
        // A copy: the SDK may keep the arguments it read before along with the details.
        const own = details === undefined ? undefined : { ...details };
        return (invoke as Invoke).call(tool, context, approval.argumentsText, own);
      },
      { signal: details?.signal, onWaiting, patienceSeconds },
    );
    return attempt.ran ? attempt.value : attempt.refusal.message;
  };
  return { ...tool, invoke: held };
}
