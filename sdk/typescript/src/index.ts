/** Countersign: a human-confirmation firewall between AI agents and their tools. */

import { runBatch, type BatchAsking, type BatchCall } from "./batch.js";
import type { Call } from "./call.js";
import { Countersign, type Asking } from "./client.js";
import type { Approval } from "./request.js";

export type { BatchAsking, BatchCall } from "./batch.js";
export type { Call, Environment, Surroundings } from "./call.js";
export { Countersign } from "./client.js";
export type { Asking, Attempt } from "./client.js";
export type { Reach, Variables } from "./door.js";
export { Fault, NotApproved } from "./errors.js";
export type { FaultKind, No, Problem } from "./errors.js";
export { gated } from "./gated.js";
export type { GatedOptions } from "./gated.js";
export type { Outcome, Report } from "./outcome.js";
export { PermitError, verifyPermit } from "./permit.js";
export type { Claims, Expected } from "./permit.js";
export type { Approval, Decision, RequestDocument, State } from "./request.js";

/** What may be said, with the daemon that is asked. */
type At<T> = T & { readonly client?: Countersign | undefined };

/** `Countersign.requestConfirmation` at the daemon that `countersign ask` would find. */
export async function requestConfirmation(call: Call, asking: At<Asking> = {}): Promise<Approval> {
  const { client = new Countersign(), ...rest } = asking;
  return client.requestConfirmation(call, rest);
}

/**
 * Asks about several calls at once and runs what is approved, stage by stage. The results stand
 * in the order of the calls; one failure loses no other.
 */
export async function batch<T>(
  calls: ReadonlyArray<BatchCall<T>>,
  asking: At<BatchAsking> = {},
): Promise<Array<PromiseSettledResult<T>>> {
  const { client = new Countersign(), ...rest } = asking;
  return runBatch(client, calls, rest);
}
