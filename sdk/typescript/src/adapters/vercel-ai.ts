/**
 * Vercel AI SDK: gated tools.
 *
 * ```ts
 * const tools = gatedTools({ sendEmail: tool({ … }) }, { session: "mail" });
 * await generateText({ model, tools, … });
 * ```
 */

import { Countersign } from "../client.js";
import type { AdapterOptions } from "./options.js";

export type { AdapterOptions } from "./options.js";

/** The fields of a tool that are used here, in all versions. */
interface ToolLike {
  // The SDK's types differ between versions; values are passed on unchanged.
  execute?: ((input: any, options: any) => unknown) | undefined;
}

/** The details of a call that are used here. */
interface Details {
  readonly abortSignal?: AbortSignal;
  readonly toolCallId?: string;
}

/** Gates tools by name. */
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
 * Gates a tool. A refusal is thrown, so the SDK gives the model a tool error that says who denied
 * the call and why. The call's abort signal cancels the request. A tool that streams its results
 * returns only the last one.
 */
export function gatedTool<T extends ToolLike>(
  name: string,
  tool: T,
  options: AdapterOptions = {},
): T {
  const execute = tool.execute;
  if (typeof execute !== "function") {
    throw new TypeError(`${name} has no execute function, so it cannot be gated`);
  }
  const { client = new Countersign(), onWaiting, patienceSeconds, ...call } = options;
  const held = async (input: unknown, more?: Details): Promise<unknown> => {
    const asked = { ...call, tool: name, arguments: input as object, callId: more?.toolCallId };
    const run = async (args: unknown): Promise<unknown> => last(execute.call(tool, args, more));
    return client.run(asked, run, { signal: more?.abortSignal, onWaiting, patienceSeconds });
  };
  // Descriptors, because a spread would lose some properties of the SDK.
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
