/** Permits of the real daemon, verified offline. */

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";

import { sha256 } from "../src/call.js";
import { canonical } from "../src/json.js";
import { verifyPermit } from "../src/index.js";
import { TestDaemon, risky } from "./test-daemon.js";

test("a permit is valid for its call, agent, key and time", async (t) => {
  const daemon = await TestDaemon.open(t);
  const client = daemon.client();
  const call = { tool: "send_message", arguments: risky(1), cwd: "/srv" };
  const coming = client.requestConfirmation(call);
  await daemon.answer({ choice: "approve", reason: "as planned" });
  const { permit, request } = await coming;
  assert.ok(permit !== null);
  const expected = { ...call, agent: "tester", keys: await client.keys() };
  const claims = verifyPermit(permit, expected);
  assert.equal(claims.request, request.id);
  assert.equal(claims.decided_by, "owner");

  const bad: Array<[string, Partial<typeof expected> & Record<string, unknown>]> = [
    ["another call", { arguments: risky(2) }],
    ["another call", { tool: "send_mail" }],
    ["another call", { cwd: "/" }],
    ["another call", { environment: "production" }],
    ["another agent", { agent: "somebody" }],
    ["not valid yet", { now: claims.iat - 1 }],
    ["expired", { now: claims.exp }],
    ["expired|not valid", { now: Number.NaN }],
    ["signature", { keys: { keys: [freshKey().jwk] } }],
    ["no Ed25519 key", { keys: { keys: [] } }],
    ["list `keys` is missing", { keys: {} }],
  ];
  for (const [why, change] of bad) {
    assert.throws(() => verifyPermit(permit, { ...expected, ...change }), new RegExp(why));
  }
  const [head = "", payload = "", signature = ""] = permit.split(".");
  const flipped = Buffer.from(signature, "base64url");
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  const texts = [
    `${head}.${payload}`,
    `${head}.${payload}.${signature}.`,
    `${head}.${payload}.${flipped.toString("base64url")}`,
    `${head}.${payload}.${signature}=`,
    `${head}.${Buffer.from("{}").toString("base64url")}.${signature}`,
    "",
    "x".repeat(9000),
  ];
  for (const one of texts) {
    assert.throws(() => verifyPermit(one, expected), { name: "PermitError" }, one);
  }
  // Verifying does not use the permit.
  await client.redeem(call, await coming);
});

test("other tokens of a trusted key are rejected", () => {
  const { jwk, privateKey } = freshKey();
  const now = 1_800_000_000;
  const hash = "0".repeat(64);
  const claims = {
    both_bind: false,
    channel: "web",
    decided_by: "owner",
    digest: hash,
    exp: now + 300,
    iat: now,
    iss: "countersign",
    jti: "x",
    policy: hash,
    raw_digest: hash,
    request: "x",
    sub: "tester",
    tier: "HIGH",
    tool: "send",
  };
  const header = { alg: "EdDSA", kid: jwk.kid, typ: "countersign-permit+jwt" };
  const signed = (head: object, said: object, write = canonical): string => {
    const part = (value: object) => Buffer.from(write(value)).toString("base64url");
    const message = `${part(head)}.${part(said)}`;
    return `${message}.${sign(null, Buffer.from(message), privateKey).toString("base64url")}`;
  };
  const expected = { keys: { keys: [jwk] }, tool: "send", arguments: {}, agent: "tester", now };
  const why = (permit: string): string => {
    try {
      verifyPermit(permit, expected);
      return "good";
    } catch (error) {
      return (error as Error).message;
    }
  };
  // Signed and well formed, but for another call.
  assert.match(why(signed(header, claims)), /another call/);
  assert.match(why(signed({ ...header, alg: "none" }, claims)), /EdDSA/);
  assert.match(why(signed({ ...header, typ: "JWT" }, claims)), /not a permit/);
  assert.match(why(signed({ ...header, crit: [] }, claims)), /unknown/);
  assert.match(why(signed(header, { ...claims, admin: true })), /unknown claim/);
  assert.match(why(signed(header, { ...claims, exp: now })), /"exp"/);
  assert.match(why(signed(header, { ...claims, exp: String(now + 9) })), /"exp"/);
  const { sub: _, ...nobody } = claims;
  assert.match(why(signed(header, nobody)), /"sub"/);
  assert.match(why(signed(header, claims, (value) => JSON.stringify(value, null, 1))), /canonical/);
});

function freshKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const jwk = publicKey.export({ format: "jwk" });
  const kid = thumbprint(jwk.x ?? "");
  return { privateKey, jwk: { kty: "OKP", crv: "Ed25519", x: jwk.x, kid } };
}

function thumbprint(x: string): string {
  return Buffer.from(sha256(canonical({ crv: "Ed25519", kty: "OKP", x })), "hex").toString(
    "base64url",
  );
}
