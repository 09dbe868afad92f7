/**
 * OpenAI Agents SDK: gated function tools.
 *
 * ```ts
 * const agent = new Agent({ name: "Mail", tools: gatedTools([sendEmail]) });
 * ```
 */

import { Countersign } from "../client.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/** The fields of a function tool that are used here. */
interface ToolLike {
  readonly type: string;
  readonly name?: string;
}

// The context and the details belong to the SDK and are passed on unchanged.
type Invoke = (context: any, input: string, details?: any) => Promise<unknown>;

/** The details of a call that are used here. */
interface Details {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly callId?: string };
}

/** Gates tools. */
export function gatedTools<T extends ToolLike>(
  tools: readonly T[],
  options: AdapterOptions = {},
): T[] {
  return tools.map((tool) => gatedTool(tool, options));
}

/**
 * Gates a tool. A refusal is returned as the result of the tool, so the model reads who denied the
 * call and why, and the run continues. The arguments are sent exactly as the model wrote them.
 * Tools that run at the provider cannot be gated and are rejected.
 */
export function gatedTool<T extends ToolLike>(tool: T, options: AdapterOptions = {}): T {
  const invoke = (tool as { invoke?: unknown }).invoke;
  const name = tool.name;
  if (tool.type !== "function" || typeof invoke !== "function" || name === undefined) {
    throw new TypeError(`${name ?? tool.type} is not a function tool, so it cannot be gated`);
  }
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  const held: Invoke = async (context, input, details: Details | undefined) => {
    const args = input.trim() === "" ? "{}" : input;
    const asked = { ...call, tool: name, arguments: args, callId: details?.toolCall?.callId };
    const attempt = await client.attempt(
      asked,
      (_, approval) => {
        // A copy: the SDK may keep the original arguments in the details.
        const own = details === undefined ? undefined : { ...details };
        return (invoke as Invoke).call(tool, context, approval.argumentsText, own);
      },
      { signal: details?.signal, onWaiting, patienceSeconds },
    );
    return attempt.ran ? attempt.value : attempt.refusal.message;
  };
  return { ...tool, invoke: held };
}
