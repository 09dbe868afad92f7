/**
 * Vercel AI SDK: tools that run only what was approved.
 *
 * ```ts
 * const tools = gatedTools({ sendEmail: tool({ … }) }, { session: "mail" });
 * await generateText({ model, tools, … });
 * ```
 */

import { Countersign } from "../client.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/** What a tool of the AI SDK must have, whatever its version. */
interface ToolLike {
  // The SDK's own types differ from version to version; what comes in goes out unchanged.
  execute?: ((input: any, options: any) => unknown) | undefined;
}

/** What the SDK says of a call beside its arguments, as far as it is used here. */
interface Details {
  readonly abortSignal?: AbortSignal;
  readonly toolCallId?: string;
}

/** The same tools behind the gate, each under its name. */
export function gatedTools<T extends Record<string, ToolLike>>(
  tools: T,
  options: AdapterOptions = {},
): T {
  const entries = Object.entries(tools).map(([name, tool]) => [
    name,
    gatedTool(name, tool, options),
  ]);
  return Object.fromEntries(entries) as T;
}

/**
 * The same tool behind the gate. A refusal is thrown, so the SDK gives the model a tool error
 * that says who refused and why. The call's abort signal takes the request back. A tool that
 * streams its results gives only the last one.
 */
export function gatedTool<T extends ToolLike>(
  name: string,
  tool: T,
  options: AdapterOptions = {},
): T {
  const execute = tool.execute;
  if (typeof execute !== "function") {
    throw new TypeError(`${name} has no execute function here, so it cannot be held here`);
  }
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  const held = async (input: unknown, more?: Details): Promise<unknown> => {
    const asked = { ...call, tool: name, arguments: input as object, callId: more?.toolCallId };
    const run = async (args: unknown): Promise<unknown> => last(execute.call(tool, args, more));
    return client.run(asked, run, { signal: more?.abortSignal, onWaiting, patienceSeconds });
  };
  // Descriptors, because the SDK keeps some of its own that a spread would lose.
  const copy = Object.create(Object.getPrototypeOf(tool) as object | null) as object;
  Object.defineProperties(copy, Object.getOwnPropertyDescriptors(tool));
  Object.defineProperty(copy, "execute", { value: held, enumerable: true, configurable: true });
  return copy as T;
}

async function last(result: unknown): Promise<unknown> {
  const value: unknown = await result;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let newest: unknown;
  for await (const piece of value as AsyncIterable<unknown>) newest = piece;
  return newest;
}
