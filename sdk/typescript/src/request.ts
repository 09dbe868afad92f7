/** The request document, and the one way from it to a yes. */

import { sameCall, type Asked } from "./call.js";
import { Fault, NotApproved } from "./errors.js";
import { canonical, isPlainObject } from "./json.js";

const STATES = ["pending", "approved", "denied", "expired", "cancelled"] as const;

/** How a request stands. Any other word is not understood. */
export type State = (typeof STATES)[number];

/** How a request ended. */
export interface Decision {
  /** The same word as the state. */
  readonly result: State;
  /** Who ended it: `people`, `deadline`, `agent`, `policy` or `grant`. */
  readonly by: {
    readonly kind: string;
    readonly people?: readonly string[];
    readonly grant?: string;
  };
  readonly channel: string;
  readonly reason: string;
  readonly at: string;
}

/** A call that was asked about, with the names that stand on the wire. */
export interface RequestDocument {
  /** Its name; none if nobody had to be asked. */
  readonly id: string | null;
  readonly state: State;
  /** How it ended, if it has. */
  readonly decision: Decision | null;
  readonly tool: string;
  /** What would happen, in one sentence. */
  readonly brief: string | null;
  /** SAFE to CRITICAL. */
  readonly tier: string;
  /** Two words from the digest, the same ones that people see. */
  readonly phrase: string;
  /** Of the canonical call, in hex. */
  readonly digest: string;
  /** Of the arguments as they were sent, in hex. */
  readonly raw_digest: string;
  readonly agent: string;
  readonly session: string;
  readonly group: string | null;
  readonly created: string;
  readonly deadline: string;
  /** The permit, single use, while it can be used. */
  readonly permit: string | null;
  readonly permit_until: string | null;
  /** The arguments to run instead, if a person changed them. */
  readonly edited_arguments: Readonly<Record<string, unknown>> | null;
  /** The gate only watches: it would have asked. */
  readonly observed: boolean;
  readonly [more: string]: unknown;
}

/** A call that may run, once. */
export interface Approval {
  readonly request: RequestDocument;
  /** The arguments to run with: what was asked, or what a person made of it. */
  readonly arguments: Record<string, unknown>;
  /** The same as JSON text, exactly as it was approved. */
  readonly argumentsText: string;
  /** Whether a person changed the arguments. */
  readonly edited: boolean;
  readonly permit: string | null;
}

/** A document that was read and is about this call; anything else is thrown. */
export function understood(value: unknown, asked: Asked): RequestDocument {
  const document = requestDocument(value);
  if (!sameCall(asked, document)) throw unexpected("it is for another call");
  return document;
}

/** A document that can be read. */
export function requestDocument(value: unknown): RequestDocument {
  if (!isPlainObject(value)) throw unexpected("it is no request");
  const state = STATES.find((word) => word === value["state"]);
  if (state === undefined) throw unexpected("it stands in no state that is known");
  const decision = value["decision"];
  const result = isPlainObject(decision) ? decision["result"] : undefined;
  if (state === "pending" ? decision !== null : result !== state) {
    throw unexpected("its decision and its state differ");
  }
  const texts = ["tool", "phrase", "digest", "raw_digest", "agent", "deadline"];
  if (texts.some((name) => typeof value[name] !== "string")) {
    throw unexpected("a part of the request is missing");
  }
  const { id, permit, edited_arguments: edited } = value;
  const text = (part: unknown): boolean => part === null || typeof part === "string";
  if (!text(id) || !text(permit ?? null) || !(edited == null || isPlainObject(edited))) {
    throw unexpected("a part of the request is of the wrong kind");
  }
  return value as unknown as RequestDocument;
}

/** What an ended request allows. There is one way to an approval, and it is here. */
export function approval(asked: Asked, document: RequestDocument): Approval {
  const { state, decision } = document;
  const said = noWords(document);
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
      throw new NotApproved(asked.tool, "error", "nobody has answered yet", { request: document });
  }
}

function noWords(document: RequestDocument): string {
  const reason = document.decision?.reason ?? "";
  const because = reason === "" ? "" : `: ${reason}`;
  switch (document.state) {
    case "expired":
      return "expired: nobody answered in time, so the answer is no";
    case "cancelled":
      return "cancelled: the request was taken back";
    default:
      return `denied by ${decider(document)}${because}`;
  }
}

/** Who ended it, in words. */
function decider(document: RequestDocument): string {
  const by = document.decision?.by;
  switch (by?.kind) {
    case "people":
      return by.people?.join(" and ") ?? "somebody";
    case "deadline":
      return "the deadline";
    case "agent":
      return "the agent itself";
    case "policy":
      return "the rules";
    default:
      return by?.kind ?? "nobody";
  }
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `the answer was not understood: ${what}`, { sent: true });
}
