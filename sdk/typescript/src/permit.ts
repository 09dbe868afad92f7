/** Verifies permits offline. */

import { createPublicKey, verify, type KeyObject } from "node:crypto";

import { callDigest, sha256, type Environment } from "./call.js";
import { argumentsText, canonical, isPlainObject } from "./json.js";

/** The longest permit, in bytes. */
const LONGEST = 8 << 10;
const TYPE = "countersign-permit+jwt";
const NEEDED = {
  both_bind: "boolean",
  channel: "string",
  decided_by: "string",
  digest: "string",
  exp: "number",
  iat: "number",
  iss: "string",
  jti: "string",
  policy: "string",
  raw_digest: "string",
  request: "string",
  sub: "string",
  tier: "string",
  tool: "string",
} as const;
const OPTIONAL = ["aud", "grant", "session"];

/** The claims of a permit. */
export interface Claims {
  readonly iss: string;
  /** In seconds since 1970. */
  readonly iat: number;
  /** When it expires, in seconds since 1970. */
  readonly exp: number;
  readonly jti: string;
  /** The agent it is for. */
  readonly sub: string;
  /** The executor it is for; any executor that trusts the key if missing. */
  readonly aud?: string;
  /** The request that was decided. */
  readonly request: string;
  readonly tool: string;
  readonly digest: string;
  readonly raw_digest: string;
  readonly both_bind: boolean;
  readonly session?: string;
  readonly policy: string;
  readonly tier: string;
  readonly decided_by: string;
  readonly channel: string;
  readonly grant?: string;
}

/** The call that an executor is about to run, and the keys that it trusts. */
export interface Expected {
  /** The daemon's key set from `Countersign.keys()`, stored before; never from the permit's sender. */
  readonly keys: unknown;
  readonly tool: string;
  readonly arguments: object | string;
  /** The agent that it acts for. */
  readonly agent: string;
  readonly cwd?: string | undefined;
  /** The kind of machine; `workstation` by default, as in the daemon. */
  readonly environment?: Environment | undefined;
  /** The executor's own name. A permit with an audience is valid for that executor only. */
  readonly audience?: string | undefined;
  /** Seconds since 1970; now by default. */
  readonly now?: number | undefined;
}

/** Why a permit is invalid. */
export class PermitError extends Error {
  override readonly name = "PermitError";
}

/**
 * The claims of a permit, if a trusted key signed it for this call and agent and it is valid now;
 * throws otherwise. Whether it was already used cannot be checked offline: `Countersign.redeem`
 * uses it.
 */
export function verifyPermit(permit: string, expected: Expected): Claims {
  const { claims, kid, message, signature } = parsed(permit);
  const key = trusted(expected.keys).get(kid);
  if (key === undefined || !verify(null, message, key, signature)) {
    throw new PermitError("the permit's signature is invalid");
  }
  const text = argumentsText(expected.arguments);
  const { tool, agent, cwd, environment = "workstation" } = expected;
  const digest = callDigest({ tool, argumentsText: text, agent, cwd, environment });
  const raw = claims.both_bind ? sha256(text) : claims.raw_digest;
  if (claims.sub !== agent) throw new PermitError("the permit is for another agent");
  if (claims.digest !== digest || claims.raw_digest !== raw) {
    throw new PermitError("the permit is for another call");
  }
  if (claims.aud !== undefined && claims.aud !== expected.audience) {
    throw new PermitError("the permit is for another executor");
  }
  const now = expected.now ?? Math.floor(Date.now() / 1000);
  if (!(now >= claims.iat)) throw new PermitError("the permit is not valid yet");
  if (!(now < claims.exp)) throw new PermitError("the permit has expired");
  return claims;
}

/** Parses a permit; only the canonical encoding is accepted. */
function parsed(permit: string): {
  claims: Claims;
  kid: string;
  message: Buffer;
  signature: Buffer;
} {
  if (permit.length > LONGEST) throw new PermitError("the permit is too long");
  const parts = permit.trim().split(".");
  const [header = "", payload = "", signed = ""] = parts;
  const signature = bytes(signed);
  if (parts.length !== 3 || signature.length !== 64) {
    throw new PermitError("the permit is not three parts of base64url");
  }
  const head = object(header, "header");
  if (head["alg"] !== "EdDSA") throw new PermitError("the permit is not signed with EdDSA");
  if (head["typ"] !== TYPE) throw new PermitError("the token is not a permit");
  const { kid } = head;
  if (typeof kid !== "string" || kid === "") {
    throw new PermitError("the permit has no key id");
  }
  if (Object.keys(head).length !== 3) {
    throw new PermitError("the permit's header has an unknown member");
  }
  const message = Buffer.from(`${header}.${payload}`, "ascii");
  return { claims: claimed(object(payload, "payload")), kid, message, signature };
}

function claimed(said: Record<string, unknown>): Claims {
  for (const [name, kind] of Object.entries(NEEDED)) {
    if (typeof said[name] !== kind) throw wrong(name);
  }
  for (const [name, value] of Object.entries(said)) {
    if (name in NEEDED) continue;
    if (!OPTIONAL.includes(name)) throw wrong("unknown claim");
    if (typeof value !== "string") throw wrong(name);
  }
  const claims = said as unknown as Claims;
  if (!Number.isSafeInteger(claims.iat) || claims.iat < 0) throw wrong("iat");
  if (!Number.isSafeInteger(claims.exp) || claims.exp <= claims.iat) throw wrong("exp");
  return claims;
}

function wrong(name: string): PermitError {
  return new PermitError(`the permit's claim "${name}" is missing or invalid`);
}

function object(part: string, name: string): Record<string, unknown> {
  const text = bytes(part).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isPlainObject(value)) throw new PermitError(`the permit's ${name} is not a JSON object`);
  // The same JSON has many spellings; only the canonical one is accepted.
  if (canonical(value) !== text) throw new PermitError("the permit is not in canonical form");
  return value;
}

function bytes(part: string): Buffer {
  const found = Buffer.from(part, "base64url");
  if (part === "" || found.toString("base64url") !== part) {
    throw new PermitError("the permit is not three parts of base64url");
  }
  return found;
}

/** The Ed25519 keys of a set by their ids. A key with another key's id invalidates the set. */
function trusted(set: unknown): Map<string, KeyObject> {
  const value: unknown = typeof set === "string" ? JSON.parse(set) : set;
  const list = isPlainObject(value) ? value["keys"] : undefined;
  if (!Array.isArray(list)) throw new PermitError("the list `keys` is missing");
  const found = new Map<string, KeyObject>();
  for (const key of list as unknown[]) {
    if (!isPlainObject(key) || key["kty"] !== "OKP" || key["crv"] !== "Ed25519") continue;
    const x = String(key["x"]);
    if (Buffer.from(x, "base64url").length !== 32) {
      throw new PermitError("a key in the set is not 32 bytes long");
    }
    const least = canonical({ crv: "Ed25519", kty: "OKP", x });
    const kid = Buffer.from(sha256(least), "hex").toString("base64url");
    if (key["kid"] !== undefined && key["kid"] !== kid) {
      throw new PermitError("a key in the set has another key's id");
    }
    found.set(kid, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }));
  }
  if (found.size === 0) throw new PermitError("the set has no Ed25519 key");
  return found;
}
