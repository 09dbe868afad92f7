/** A proposed tool call: what is sent, and what an answer must be bound to. */

import { createHash } from "node:crypto";

import { Fault } from "./errors.js";
import { argumentsText, canonical } from "./json.js";
import { defaultProject } from "./project.js";

/** The kinds of machine a call may run on. */
export const ENVIRONMENTS = ["workstation", "production", "ci", "container"] as const;

/** One of them. */
export type Environment = (typeof ENVIRONMENTS)[number];

/** Where a call happens and what goes with it. */
export interface Surroundings {
  /** The agent's session; approvals "for this session" hold in it. */
  readonly session?: string | undefined;
  /** Where the agent's user sits: cli, api, telegram, discord. */
  readonly platform?: string | undefined;
  /** The working directory; an approval is bound to it. */
  readonly cwd?: string | undefined;
  /**
   * The root folder of the project; by default the git repository of `cwd` or of the process's
   * directory, and none if it is empty.
   */
  readonly project?: string | undefined;
  /** The kind of machine; it can only be claimed for the worse. */
  readonly environment?: Environment | undefined;
  /** The tier that the caller claims; it can only raise. */
  readonly riskLevel?: "safe" | "low" | "medium" | "high" | "critical" | undefined;
  /** The agent's own words for the person; shown as such. */
  readonly description?: string | undefined;
  /** How long to wait for an answer, in seconds; 300 if nothing is said. */
  readonly timeoutSeconds?: number | undefined;
}

/** A call to ask about. */
export interface Call extends Surroundings {
  readonly tool: string;
  /** An object of JSON values, or the JSON text of one, which is then sent as it is written. */
  readonly arguments?: object | string | undefined;
  /** The idempotency key: the same key asks only once. One is made if nothing is said. */
  readonly key?: string | undefined;
  /** The host's own name for the call: whoever asks under it again gets the same request. */
  readonly callId?: string | undefined;
  /** What the tool's server says of it, as MCP names it; it can only raise. */
  readonly annotations?: object | undefined;
}

/** A call as it goes out. */
export interface Asked {
  readonly tool: string;
  readonly argumentsText: string;
  readonly cwd: string | undefined;
  readonly environment: Environment | undefined;
  /** The host's own name for the call. */
  readonly callId: string | undefined;
  /** The members that the call is judged by. */
  readonly judged: string;
  /** The members that go with the call when it is asked about. */
  readonly body: string;
  /** The same for a question that joins one about the very same call; it needs a permit. */
  readonly joining: string;
}

/** Reads a call once. Nothing of it changes afterwards, whatever happens to the objects given. */
export function asked(call: Call): Asked {
  if (typeof call.tool !== "string" || call.tool === "") {
    throw new Fault("input", "the call names no tool");
  }
  const seconds = call.timeoutSeconds;
  if (seconds !== undefined && !(Number.isFinite(seconds) && seconds > 0)) {
    throw new Fault("input", "timeoutSeconds must be a number above 0");
  }
  const text = argumentsText(call.arguments ?? {});
  const { tool, cwd, environment, callId } = call;
  const project = call.project ?? defaultProject(cwd);
  const hints = call.annotations === undefined ? undefined : argumentsText(call.annotations);
  const context: Said[] = [
    ["session", call.session],
    ["platform", call.platform],
    ["cwd", cwd],
    ["project", project === "" ? undefined : project],
    ["environment", environment],
    ["risk_level", call.riskLevel],
    ["annotations", hints === undefined ? undefined : (JSON.parse(hints) as object)],
  ];
  const rest: Said[] = [
    ["description", call.description],
    ["timeout_seconds", seconds],
    ["call_id", callId],
  ];
  const joins: Said[] = [
    ["permit", true],
    ["join", true],
  ];
  const first: Said[] = [["tool", tool]];
  return {
    tool,
    argumentsText: text,
    cwd,
    environment,
    callId,
    judged: members(first, text, context),
    body: members(first, text, [...context, ...rest]),
    joining: members(first, text, [...context, ...rest, ...joins]),
  };
}

/** What came of a call, said of the call itself. */
export function cameOf(call: Asked, outcome: object): string {
  const told: Said[] = Object.entries(outcome);
  return `${call.judged.slice(0, -1)}${further([["call_id", call.callId], ...told])}}`;
}

/** A call that passed elsewhere, so many seconds ago. */
export function passedAgo(call: Asked, seconds: number): string {
  const ago: Said = ["seconds_ago", seconds > 0 ? seconds : undefined];
  return `${call.judged.slice(0, -1)}${further([ago])}}`;
}

/** The body that uses a permit for a call with these arguments. */
export function redemption(call: Asked, text: string, permit: string): string {
  const rest: Said[] = [
    ["cwd", call.cwd],
    ["environment", call.environment],
  ];
  return members(
    [
      ["permit", permit],
      ["tool", call.tool],
    ],
    text,
    rest,
  );
}

/** A member and its value; none is not said. */
type Said = readonly [string, unknown];

function members(first: readonly Said[], text: string, rest: readonly Said[]): string {
  return `{${first.flatMap(said).join(",")},"arguments":${text}${further(rest)}}`;
}

function further(rest: readonly Said[]): string {
  return rest
    .flatMap(said)
    .map((one) => `,${one}`)
    .join("");
}

function said([name, value]: Said): string[] {
  return value === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)}`];
}

/** What a decision is bound to: the canonical call, hashed. */
export function callDigest(call: {
  readonly tool: string;
  readonly argumentsText: string;
  readonly agent: string;
  readonly cwd: string | undefined;
  readonly environment: Environment;
}): string {
  const { tool, agent, environment } = call;
  const value: unknown = JSON.parse(call.argumentsText);
  const bound = { agent, arguments: value, cwd: call.cwd ?? null, environment, tool };
  return sha256(`countersign/call/1\0${canonical(bound)}`);
}

/** SHA-256 in hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** Whether a document speaks of the very call that was asked about. */
export function sameCall(
  call: Asked,
  document: { readonly digest: string; readonly raw_digest: string; readonly agent: string },
): boolean {
  if (document.raw_digest !== sha256(call.argumentsText)) return false;
  // The daemon knows the machine better than we do, so any of the four may be meant.
  return ENVIRONMENTS.some((environment) => {
    return document.digest === callDigest({ ...call, agent: document.agent, environment });
  });
}
