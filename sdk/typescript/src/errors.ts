/** What can go wrong. Every one of these means that nothing was approved. */

import type { RequestDocument } from "./request.js";

/** A problem document (RFC 9457), as the daemon sends it. */
export interface Problem {
  /** `urn:countersign:problem:NAME`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What happened this time, for people. */
  readonly detail: string;
  /** What became of the call: `denied`, `unavailable` or `none`. */
  readonly outcome: string;
  /** When it is worth trying again, in seconds. */
  readonly retry_after?: number;
  /** Why a permit was not taken. */
  readonly why?: string;
}

/**
 * - `input`: what was to be sent cannot be sent.
 * - `unreachable`: nobody answers at the door, or the connection broke.
 * - `unexpected`: the answer is not one that Countersign gives.
 * - `unavailable`: the daemon misses a part that it takes to approve anything.
 * - `refused`: the daemon said no to the question; `problem` says why.
 * - `aborted`: the caller's signal was set off.
 */
export type FaultKind =
  "input" | "unreachable" | "unexpected" | "unavailable" | "refused" | "aborted";

/** Why there is no answer that can be acted on. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly kind: FaultKind;
  /** The problem document, if the daemon sent one. */
  readonly problem: Problem | undefined;
  /** Whether the question may have arrived all the same. */
  readonly sent: boolean;

  constructor(kind: FaultKind, message: string, more: { problem?: Problem; sent?: boolean } = {}) {
    super(message);
    this.kind = kind;
    this.problem = more.problem;
    this.sent = more.sent ?? false;
  }

  /** Whether the same question may get another answer a little later. */
  get passesByItself(): boolean {
    return this.kind === "unreachable" || this.kind === "unavailable";
  }
}

/**
 * How a question ended without a yes. `waiting`: our patience is over and the request stays open;
 * whoever asks about the very same call again joins it.
 */
export type No = "denied" | "expired" | "cancelled" | "waiting" | "error";

/**
 * The call was not approved, so it was not run. `message` is written for the model and for
 * people alike: it names the tool, who said no and why.
 */
export class NotApproved extends Error {
  override readonly name = "NotApproved";
  readonly tool: string;
  readonly state: No;
  /** Why, in the words of whoever said no. */
  readonly reason: string;
  /** The request, if there is one. */
  readonly request: RequestDocument | undefined;

  constructor(
    tool: string,
    state: No,
    said: string,
    more: { reason?: string; request?: RequestDocument; cause?: unknown } = {},
  ) {
    super(`${tool} was not run: ${said}`, more.cause === undefined ? {} : { cause: more.cause });
    this.tool = tool;
    this.state = state;
    this.reason = more.reason ?? said;
    this.request = more.request;
  }

  /** Nobody has answered yet, and whoever asked has no more time. */
  static waiting(tool: string, request: RequestDocument): NotApproved {
    const said =
      `still waiting for a person (request ${request.id}, "${request.phrase}"); propose the ` +
      "very same call again to go on waiting, and do nothing else in its place";
    return new NotApproved(tool, "waiting", said, { request });
  }

  /** Whatever was thrown, as a no. */
  static from(tool: string, thrown: unknown): NotApproved {
    if (thrown instanceof NotApproved) return thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    if (thrown instanceof Fault && thrown.kind === "aborted") {
      return new NotApproved(tool, "cancelled", "cancelled: the request was taken back", {
        cause: thrown,
      });
    }
    return new NotApproved(tool, "error", `denied: ${why}`, { reason: why, cause: thrown });
  }
}
