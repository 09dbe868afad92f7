/** Errors. Each of them means that the call was not approved. */

import type { RequestDocument } from "./request.js";

/** A problem document (RFC 9457), as the daemon sends it. */
export interface Problem {
  /** `urn:countersign:problem:NAME`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What happened this time, for people. */
  readonly detail: string;
  /** The effect on the call: `denied`, `unavailable` or `none`. */
  readonly outcome: string;
  /** When to retry, in seconds. */
  readonly retry_after?: number;
  /** Why a permit was rejected. */
  readonly why?: string;
}

/**
 * - `input`: the input is invalid and was not sent.
 * - `unreachable`: the daemon does not answer, or the connection broke.
 * - `unexpected`: the response is not a valid response of the daemon.
 * - `untrusted`: the response is not signed by the pinned key of the daemon.
 * - `unavailable`: the daemon is running, but not able to decide.
 * - `refused`: the daemon rejected the request; `problem` says why.
 * - `aborted`: the caller's signal was aborted.
 */
export type FaultKind =
  | "input"
  | "unreachable"
  | "unexpected"
  | "untrusted"
  | "unavailable"
  | "refused"
  | "aborted";

/** A failure to get a valid response. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly kind: FaultKind;
  /** The problem document, if the daemon sent one. */
  readonly problem: Problem | undefined;
  /** Whether the request may have arrived. */
  readonly sent: boolean;

  constructor(kind: FaultKind, message: string, more: { problem?: Problem; sent?: boolean } = {}) {
    super(message);
    this.kind = kind;
    this.problem = more.problem;
    this.sent = more.sent ?? false;
  }

  /** Whether a retry may succeed. */
  get isTransient(): boolean {
    return this.kind === "unreachable" || this.kind === "unavailable";
  }
}

/**
 * How a request ended without an approval. `waiting`: the caller's time is over and the request
 * stays pending; asking about the same call again joins it.
 */
export type RefusalState = "denied" | "expired" | "cancelled" | "waiting" | "error";

/**
 * The call was not approved, so it was not run. `message` is for the model and for people: it
 * names the tool, who denied the call and why.
 */
export class NotApproved extends Error {
  override readonly name = "NotApproved";
  readonly tool: string;
  readonly state: RefusalState;
  /** The reason that was given. */
  readonly reason: string;
  /** The request, if there is one. */
  readonly request: RequestDocument | undefined;

  constructor(
    tool: string,
    state: RefusalState,
    said: string,
    more: { reason?: string; request?: RequestDocument; cause?: unknown } = {},
  ) {
    super(`${tool} was not run: ${said}`, more.cause === undefined ? {} : { cause: more.cause });
    this.tool = tool;
    this.state = state;
    this.reason = more.reason ?? said;
    this.request = more.request;
  }

  /** The request is still pending, and the caller's time is over. */
  static waiting(tool: string, request: RequestDocument): NotApproved {
    const said =
      `pending: a person has not decided yet (request ${request.id}, "${request.phrase}"). ` +
      "Propose exactly the same call again later: the answer will be there. Do not try it " +
      "another way.";
    return new NotApproved(tool, "waiting", said, { request });
  }

  /** Any error as a refusal. */
  static from(tool: string, thrown: unknown): NotApproved {
    if (thrown instanceof NotApproved) return thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    if (thrown instanceof Fault && thrown.kind === "aborted") {
      return new NotApproved(tool, "cancelled", "the request was cancelled", {
        cause: thrown,
      });
    }
    return new NotApproved(tool, "error", `denied: ${why}`, { reason: why, cause: thrown });
  }
}
