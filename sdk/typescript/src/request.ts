/** The request document, and the only path from it to an approval. */

import { sameCall, type EncodedCall } from "./call.js";
import { Fault, NotApproved } from "./errors.js";
import { canonical, isPlainObject } from "./json.js";

const STATES = ["pending", "approved", "denied", "expired", "cancelled"] as const;

/** The state of a request. Any other value is rejected. */
export type State = (typeof STATES)[number];

/** How a request ended. */
export interface Decision {
  /** The same value as the state. */
  readonly result: State;
  /** Who decided: `people`, `deadline`, `agent`, `policy` or `grant`. */
  readonly by: {
    readonly kind: string;
    readonly people?: readonly string[];
    readonly grant?: string;
  };
  readonly channel: string;
  readonly reason: string;
  readonly at: string;
}

/** A submitted call, with the field names of the API. */
export interface RequestDocument {
  /** The id; none if no person had to be asked. */
  readonly id: string | null;
  readonly state: State;
  /** The decision, if there is one. */
  readonly decision: Decision | null;
  readonly tool: string;
  /** One sentence that says what the call does. */
  readonly brief: string | null;
  /** SAFE to CRITICAL. */
  readonly tier: string;
  /** Two words derived from the digest, which people see too. */
  readonly phrase: string;
  /** SHA-256 of the canonical call, in hex. */
  readonly digest: string;
  /** SHA-256 of the arguments as they were sent, in hex. */
  readonly raw_digest: string;
  readonly agent: string;
  readonly session: string;
  readonly group: string | null;
  readonly created: string;
  readonly deadline: string;
  /** The permit: single use, until it expires. */
  readonly permit: string | null;
  readonly permit_until: string | null;
  /** The arguments to run with, if a person edited them. */
  readonly edited_arguments: Readonly<Record<string, unknown>> | null;
  /** The gate is in observe mode and would have asked. */
  readonly observed: boolean;
  readonly [more: string]: unknown;
}

/** A call that may run, once. */
export interface Approval {
  readonly request: RequestDocument;
  /** The arguments to run with: those of the call, or as a person edited them. */
  readonly arguments: Record<string, unknown>;
  /** The same as JSON text, exactly as approved. */
  readonly argumentsText: string;
  /** Whether a person edited the arguments. */
  readonly edited: boolean;
  readonly permit: string | null;
}

/** Parses a document that must be about this call. */
export function parseResponse(value: unknown, asked: EncodedCall): RequestDocument {
  const document = requestDocument(value);
  if (!sameCall(asked, document)) throw unexpected("the response is for another call");
  return document;
}

/** Parses a document. */
export function requestDocument(value: unknown): RequestDocument {
  if (!isPlainObject(value)) throw unexpected("the body is not a request");
  const state = STATES.find((word) => word === value["state"]);
  if (state === undefined) throw unexpected("unknown state");
  const decision = value["decision"];
  const result = isPlainObject(decision) ? decision["result"] : undefined;
  if (state === "pending" ? decision !== null : result !== state) {
    throw unexpected("the decision and the state differ");
  }
  const texts = ["tool", "phrase", "digest", "raw_digest", "agent", "deadline"];
  if (texts.some((name) => typeof value[name] !== "string")) {
    throw unexpected("a part of the request is missing");
  }
  const { id, permit, edited_arguments: edited } = value;
  const text = (part: unknown): boolean => part === null || typeof part === "string";
  if (!text(id) || !text(permit ?? null) || !(edited == null || isPlainObject(edited))) {
    throw unexpected("a part of the request has the wrong type");
  }
  return value as unknown as RequestDocument;
}

/** The approval of an ended request. This is the only place that makes one. */
export function approval(asked: EncodedCall, document: RequestDocument): Approval {
  const { state, decision } = document;
  const said = refusalReason(document);
  switch (state) {
    case "approved": {
      const edited = document.edited_arguments ?? null;
      const text = edited === null ? asked.argumentsText : canonical(edited);
      return {
        request: document,
        arguments: JSON.parse(text) as Record<string, unknown>,
        argumentsText: text,
        edited: edited !== null,
        permit: document.permit ?? null,
      };
    }
    case "denied":
    case "expired":
    case "cancelled":
      throw new NotApproved(asked.tool, state, said, {
        reason: decision?.reason ?? "",
        request: document,
      });
    default:
      throw new NotApproved(asked.tool, "error", "the request is still pending", {
        request: document,
      });
  }
}

function refusalReason(document: RequestDocument): string {
  const reason = document.decision?.reason ?? "";
  const because = reason === "" ? "" : `: ${reason}`;
  switch (document.state) {
    case "expired":
      return "expired: no person answered before the deadline";
    case "cancelled":
      return "the request was cancelled";
    default:
      return `denied by ${decider(document)}${because}`;
  }
}

/** Who decided, as text. */
function decider(document: RequestDocument): string {
  const by = document.decision?.by;
  switch (by?.kind) {
    case "people":
      return by.people?.join(" and ") ?? "a person";
    case "deadline":
      return "the deadline";
    case "agent":
      return "the agent itself";
    case "policy":
      return "the rules";
    default:
      return by?.kind ?? "an unknown decider";
  }
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `unexpected response from the daemon: ${what}`, { sent: true });
}
