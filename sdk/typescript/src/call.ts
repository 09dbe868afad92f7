/** A proposed tool call, its encoding, and the digest that a decision is bound to. */

import { createHash } from "node:crypto";

import { Fault } from "./errors.js";
import { argumentsText, canonical } from "./json.js";
import { defaultProject } from "./project.js";

/** The kinds of machine a call may run on. */
export const ENVIRONMENTS = ["workstation", "production", "ci", "container"] as const;

/** A kind of machine. */
export type Environment = (typeof ENVIRONMENTS)[number];

/** The context of a call. */
export interface CallContext {
  /** The agent's session, for approvals "for this session". */
  readonly session?: string | undefined;
  /** Where the agent's user is: cli, api, telegram or discord. */
  readonly platform?: string | undefined;
  /** The working directory; an approval is bound to it. */
  readonly cwd?: string | undefined;
  /**
   * The root folder of the project; by default the git repository of `cwd` or of the process's
   * directory, and none if it is empty.
   */
  readonly project?: string | undefined;
  /** The kind of machine; a claim can only raise the risk. */
  readonly environment?: Environment | undefined;
  /** The tier that the caller claims; it can only raise the risk. */
  readonly riskLevel?: "safe" | "low" | "medium" | "high" | "critical" | undefined;
  /** The agent's own description, shown to people as such. */
  readonly description?: string | undefined;
  /** How long people have to decide, in seconds; 300 by default. */
  readonly timeoutSeconds?: number | undefined;
}

/** A call to ask about. */
export interface Call extends CallContext {
  readonly tool: string;
  /** An object of JSON values, or JSON text of one, which is sent unchanged. */
  readonly arguments?: object | string | undefined;
  /** The idempotency key: the same key makes one request. Random by default. */
  readonly key?: string | undefined;
  /** The host's own id of the call: asking with the same id again returns the same request. */
  readonly callId?: string | undefined;
  /** The MCP annotations of the tool; they can only raise the risk. */
  readonly annotations?: object | undefined;
}

/** A call as it is sent. */
export interface EncodedCall {
  readonly tool: string;
  readonly argumentsText: string;
  readonly cwd: string | undefined;
  readonly environment: Environment | undefined;
  /** The host's own id of the call. */
  readonly callId: string | undefined;
  /** The JSON object that is assessed. */
  readonly assessed: string;
  /** The body of a new request. */
  readonly body: string;
  /** The body of a request that joins one for the same call; it needs a permit. */
  readonly joining: string;
}

/** Encodes a call once; later changes of the given objects have no effect. */
export function encodeCall(call: Call): EncodedCall {
  if (typeof call.tool !== "string" || call.tool === "") {
    throw new Fault("input", "the call has no tool");
  }
  const seconds = call.timeoutSeconds;
  if (seconds !== undefined && !(Number.isFinite(seconds) && seconds > 0)) {
    throw new Fault("input", "timeoutSeconds must be a number above 0");
  }
  const text = argumentsText(call.arguments ?? {});
  const { tool, cwd, environment, callId } = call;
  const project = call.project ?? defaultProject(cwd);
  const hints = call.annotations === undefined ? undefined : argumentsText(call.annotations);
  const context: Member[] = [
    ["session", call.session],
    ["platform", call.platform],
    ["cwd", cwd],
    ["project", project === "" ? undefined : project],
    ["environment", environment],
    ["risk_level", call.riskLevel],
    ["annotations", hints === undefined ? undefined : (JSON.parse(hints) as object)],
  ];
  const rest: Member[] = [
    ["description", call.description],
    ["timeout_seconds", seconds],
    ["call_id", callId],
  ];
  const joins: Member[] = [
    ["permit", true],
    ["join", true],
  ];
  const first: Member[] = [["tool", tool]];
  return {
    tool,
    argumentsText: text,
    cwd,
    environment,
    callId,
    assessed: members(first, text, context),
    body: members(first, text, [...context, ...rest]),
    joining: members(first, text, [...context, ...rest, ...joins]),
  };
}

/** The body that reports the outcome of a call. */
export function outcomeBody(call: EncodedCall, outcome: object): string {
  const reported: Member[] = Object.entries(outcome);
  return `${call.assessed.slice(0, -1)}${further([["call_id", call.callId], ...reported])}}`;
}

/** A call that a gateway let pass, this many seconds ago. */
export function passBody(call: EncodedCall, seconds: number): string {
  const ago: Member = ["seconds_ago", seconds > 0 ? seconds : undefined];
  return `${call.assessed.slice(0, -1)}${further([ago])}}`;
}

/** The body that uses a permit for a call with these arguments. */
export function redemption(call: EncodedCall, text: string, permit: string): string {
  const rest: Member[] = [
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

/** A JSON member; it is omitted if its value is undefined. */
type Member = readonly [string, unknown];

function members(first: readonly Member[], text: string, rest: readonly Member[]): string {
  return `{${first.flatMap(encodeMember).join(",")},"arguments":${text}${further(rest)}}`;
}

function further(rest: readonly Member[]): string {
  return rest
    .flatMap(encodeMember)
    .map((one) => `,${one}`)
    .join("");
}

function encodeMember([name, value]: Member): string[] {
  return value === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)}`];
}

/** The digest that a decision is bound to: SHA-256 of the canonical call. */
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

/** Whether a document is about this call. */
export function sameCall(
  call: EncodedCall,
  document: { readonly digest: string; readonly raw_digest: string; readonly agent: string },
): boolean {
  if (document.raw_digest !== sha256(call.argumentsText)) return false;
  // The daemon may know another environment of this machine, so any of the four is accepted.
  return ENVIRONMENTS.some((environment) => {
    return document.digest === callDigest({ ...call, agent: document.agent, environment });
  });
}
