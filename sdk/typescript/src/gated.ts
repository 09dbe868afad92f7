/** A function that runs only what was approved. */

import type { Surroundings } from "./call.js";
import { Countersign } from "./client.js";
import type { RequestDocument } from "./request.js";

/** How a function is gated. */
export interface GatedOptions<A = object, Rest extends unknown[] = unknown[]> extends Surroundings {
  /** The name under which people and rules know it. */
  readonly tool: string;
  /** The daemon; found as `countersign ask` finds it if nothing is said. */
  readonly client?: Countersign | undefined;
  /** Takes the request back when it is set off; a function of the arguments may find it there. */
  readonly signal?: AbortSignal | ((args: A, ...rest: Rest) => AbortSignal | undefined) | undefined;
  /** Called once when a person has to be asked. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /** How long to wait here, in seconds; whoever calls again with the same arguments goes on. */
  readonly patienceSeconds?: number | undefined;
}

/**
 * The same function behind the gate. Its first argument, an object of JSON values, is what is
 * asked about; further ones are passed on. It runs once the call is approved and its permit is
 * used, with exactly the approved arguments: if a person edited them, with the edited ones.
 * Otherwise it does not run, and `NotApproved` is thrown.
 */
export function gated<A extends object, Rest extends unknown[], R>(
  run: (args: A, ...rest: Rest) => R,
  options: GatedOptions<A, Rest>,
): (args: A, ...rest: Rest) => Promise<Awaited<R>> {
  const { client = new Countersign(), signal, onWaiting, patienceSeconds, ...call } = options;
  return async (args: A, ...rest: Rest): Promise<Awaited<R>> => {
    const own = typeof signal === "function" ? signal(args, ...rest) : signal;
    const asking = { signal: own, onWaiting, patienceSeconds };
    const asked = { ...call, arguments: args };
    return client.run<R>(asked, (approved) => run(approved as A, ...rest), asking);
  };
}
