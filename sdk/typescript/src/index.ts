/** Countersign: a human-confirmation firewall between AI agents and their tools. */

import { runBatch, type BatchOptions, type BatchCall } from "./batch.js";
import type { Call } from "./call.js";
import { Countersign, type AskOptions } from "./client.js";
import type { Approval } from "./request.js";

export type { BatchOptions, BatchCall } from "./batch.js";
export type { Call, Environment, CallContext } from "./call.js";
export { Countersign } from "./client.js";
export type { AskOptions, Attempt } from "./client.js";
export type { ConnectionOptions, Variables } from "./endpoint.js";
export { Fault, NotApproved } from "./errors.js";
export type { FaultKind, RefusalState, Problem } from "./errors.js";
export { gated } from "./gated.js";
export type { GatedOptions } from "./gated.js";
export type { Outcome, Report } from "./outcome.js";
export { PermitError, verifyPermit } from "./permit.js";
export type { Claims, Expected } from "./permit.js";
export type { Approval, Decision, RequestDocument, State } from "./request.js";
export { userTexts } from "./user-texts.js";
export type { UserTexts } from "./user-texts.js";

/** Options with the daemon to ask. */
type At<T> = T & { readonly client?: Countersign | undefined };

/** `Countersign.requestConfirmation` at the daemon that `countersign ask` would find. */
export async function requestConfirmation(
  call: Call,
  options: At<AskOptions> = {},
): Promise<Approval> {
  const { client = new Countersign(), ...rest } = options;
  return client.requestConfirmation(call, rest);
}

/**
 * Asks about several calls at once and runs the approved ones, stage by stage. The results are in
 * the order of the calls; a failure does not affect the others.
 */
export async function batch<T>(
  calls: ReadonlyArray<BatchCall<T>>,
  options: At<BatchOptions> = {},
): Promise<Array<PromiseSettledResult<T>>> {
  const { client = new Countersign(), ...rest } = options;
  return runBatch(client, calls, rest);
}
