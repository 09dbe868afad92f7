/** The pinned public key of the daemon: the only thing that makes a response believed. */

import { createHash, createPublicKey, randomBytes, verify, type KeyObject } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { Fault } from "./errors.js";

const HEAD = "countersign-daemon-key-1 ";
const FILE = "daemon.pub";
/** The key of the whole machine, which only an administrator can change. */
const SYSTEM = join("/etc/countersign", FILE);

/** What the client sent and what the daemon answered. */
export interface SignedExchange {
  readonly nonce: string;
  readonly method: string;
  readonly target: string;
  /** The header `Authorization`; empty without one. */
  readonly credential: string;
  readonly request: string;
  readonly status: number;
  readonly response: string;
}

/** Reads a key file. A file that another user can change pins nothing. */
export function readDaemonKey(path: string): KeyObject {
  let text: string;
  let isPrivate: boolean;
  try {
    const found = statSync(path);
    const owners = [0, process.getuid?.() ?? found.uid];
    isPrivate = (found.mode & 0o022) === 0 && owners.includes(found.uid);
    text = readFileSync(path, "ascii");
  } catch (error) {
    throw untrusted(error instanceof Error ? error.message : String(error));
  }
  if (!isPrivate) {
    throw untrusted(`${path}: other users can change this file; run chmod 644 and chown`);
  }
  return parseDaemonKey(text);
}

/** Parses `countersign-daemon-key-1 KEY`, as `countersign keys show` prints it. */
export function parseDaemonKey(text: string): KeyObject {
  const x = text.startsWith(HEAD) ? text.slice(HEAD.length).replace(/\n$/, "") : "";
  try {
    if (!/^[A-Za-z0-9_-]{43}$/.test(x)) throw new Error();
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  } catch {
    throw untrusted("expected `countersign-daemon-key-1` and the daemon's key");
  }
}

/**
 * The key of the machine, the one that this user pinned, or that of the user's daemon. No variable
 * of Countersign chooses the file: an agent sets the variables of its processes.
 */
export function findDaemonKey(home: string): KeyObject {
  const named = [SYSTEM, join(home, ".config/countersign", FILE)].find((path) => existsSync(path));
  return readDaemonKey(named ?? join(home, ".local/state/countersign", FILE));
}

/** The text that the daemon signs. */
export function signedText(exchange: SignedExchange): string {
  const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
  const lines = [
    "countersign-response-1",
    exchange.nonce,
    `${exchange.method} ${exchange.target}`,
    digest(exchange.credential),
    digest(exchange.request),
    String(exchange.status),
    digest(exchange.response),
    "",
  ];
  return lines.join("\n");
}

/** Returns only if the key signed this response to this request. */
export function checkResponse(
  key: KeyObject,
  exchange: SignedExchange,
  signature: string | undefined,
): void {
  if (signature === undefined) throw untrusted("the response has no signature");
  const isPlain = /^[A-Za-z0-9_-]{86}$/.test(signature);
  const text = Buffer.from(signedText(exchange));
  if (!isPlain || !verify(null, text, key, Buffer.from(signature, "base64url"))) {
    throw untrusted(
      "the pinned key did not sign this response; if you rotated the daemon's key, " +
        "run `countersign keys trust --rotated`",
    );
  }
}

/** A random value for one exchange. */
export function newNonce(): string {
  return randomBytes(32).toString("base64url");
}

function untrusted(why: string): Fault {
  const message =
    `the daemon is not trusted: ${why}; nothing was approved. Start \`countersign serve\` on this ` +
    "machine, or pin the daemon's key with `countersign keys trust`";
  return new Fault("untrusted", message, { sent: true });
}
