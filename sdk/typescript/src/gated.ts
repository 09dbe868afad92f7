/** Gated functions. */

import type { CallContext } from "./call.js";
import { Countersign } from "./client.js";
import type { RequestDocument } from "./request.js";

/** Options of a gated function. */
export interface GatedOptions<A = object, Rest extends unknown[] = unknown[]> extends CallContext {
  /** The name of the tool that people see and rules match. */
  readonly tool: string;
  /** The daemon; found as `countersign ask` finds it by default. */
  readonly client?: Countersign | undefined;
  /** Cancels the request when it is aborted; may be a function of the arguments. */
  readonly signal?: AbortSignal | ((args: A, ...rest: Rest) => AbortSignal | undefined) | undefined;
  /** Called once if the request is pending. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /** How long to wait, in seconds; calling again with the same arguments continues to wait. */
  readonly patienceSeconds?: number | undefined;
}

/**
 * Gates a function. Its first argument, an object of JSON values, is submitted; further arguments
 * are passed on. When the call is approved and its permit is used, the function runs once, with
 * exactly the approved arguments, which a person may have edited. Otherwise it does not run, and
 * `NotApproved` is thrown.
 */
export function gated<A extends object, Rest extends unknown[], R>(
  run: (args: A, ...rest: Rest) => R,
  options: GatedOptions<A, Rest>,
): (args: A, ...rest: Rest) => Promise<Awaited<R>> {
  const { client = new Countersign(), signal, onWaiting, patienceSeconds, ...call } = options;
  return async (args: A, ...rest: Rest): Promise<Awaited<R>> => {
    const own = typeof signal === "function" ? signal(args, ...rest) : signal;
    const askOptions = { signal: own, onWaiting, patienceSeconds };
    const asked = { ...call, arguments: args };
    return client.run<R>(asked, (approved) => run(approved as A, ...rest), askOptions);
  };
}
