/** Against a fake daemon that sends invalid responses, breaks off and stalls: nothing is approved. */

import assert from "node:assert/strict";
import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { callDigest, sha256 } from "../src/call.js";
import { signedText, type SignedExchange } from "../src/daemon-key.js";
import { batch, Countersign, gated } from "../src/index.js";

const ID = "01m7ge9tkt6z8p8nkwacf5ef2n";
const ARGUMENTS = { to: "bo@example.org" };
const text = JSON.stringify(ARGUMENTS);
const digest = callDigest({
  tool: "send",
  argumentsText: text,
  agent: "tester",
  cwd: undefined,
  environment: "workstation",
});

type Document = Record<string, unknown>;

/** A valid document: approved, with a permit. */
const approved: Document = {
  id: ID,
  state: "approved",
  decision: {
    result: "approved",
    by: { kind: "people", people: ["owner"] },
    channel: "web",
    reason: "",
    at: "x",
  },
  tool: "send",
  brief: "Sends.",
  tier: "HIGH",
  phrase: "olive-tractor",
  digest,
  raw_digest: sha256(text),
  both_bind: false,
  agent: "tester",
  session: "",
  group: null,
  crisis: false,
  created: "2026-01-01T00:00:00Z",
  deadline: "2026-01-01T00:05:00Z",
  level: "first",
  quorum: { approve: 1, deny: 1 },
  approvals: 1,
  permit: "a.b.c",
  permit_until: "2026-01-01T00:10:00Z",
  edited_arguments: null,
  observed: false,
};
const pending = { ...approved, state: "pending", decision: null, permit: null };
const used = { redeemed: true, request: ID, at: "2026-01-01T00:00:01Z" };

interface Words {
  ask?: (reply: ServerResponse) => void;
  wait?: (reply: ServerResponse) => void;
  redeem?: (reply: ServerResponse) => void;
  batch?: (reply: ServerResponse) => void;
}

/** The key of the daemon that the client pins, and that of an impostor. */
const genuine = generateKeyPairSync("ed25519");
const another = generateKeyPairSync("ed25519");
const folder = mkdtempSync(join(tmpdir(), "countersign-key-"));
const daemonKey = join(folder, "daemon.pub");
writeFileSync(daemonKey, keyText(genuine.publicKey), { mode: 0o644 });
after(() => rmSync(folder, { recursive: true }));

function keyText(key: KeyObject): string {
  return `countersign-daemon-key-1 ${String(key.export({ format: "jwk" }).x)}\n`;
}

/** The signature that a response gets, if any. */
type Forgery = (exchange: SignedExchange) => string | undefined;

const signedWith =
  (key: KeyObject, changed: Partial<SignedExchange> = {}): Forgery =>
  (exchange) => {
    const text = Buffer.from(signedText({ ...exchange, ...changed }));
    return sign(null, text, key).toString("base64url");
  };

let forgery = signedWith(genuine.privateKey);
/** The bodies of the requests that are being answered. */
const bodies = new WeakMap<ServerResponse, string>();

/** Signs a response as the daemon would, or as the test wants it. */
function signedHeaders(reply: ServerResponse, status: number, body: string): OutgoingHttpHeaders {
  const { req: asked } = reply;
  const signature = forgery({
    nonce: String(asked.headers["countersign-nonce"]),
    method: asked.method ?? "",
    target: asked.url ?? "",
    credential: asked.headers.authorization ?? "",
    request: bodies.get(reply) ?? "",
    status,
    response: body,
  });
  return signature === undefined ? {} : { "countersign-signature": signature };
}

const json =
  (value: unknown, status = 200, type = "application/json") =>
  (reply: ServerResponse): void => {
    const body = typeof value === "string" ? value : JSON.stringify(value);
    const length = { "content-type": type, "content-length": Buffer.byteLength(body) };
    reply.writeHead(status, { ...length, ...signedHeaders(reply, status, body) });
    reply.end(body);
  };

/** A fake daemon with given responses. */
async function standIn(
  words: Words,
  paths: string[] = [],
): Promise<{ port: number; close(): void }> {
  const server = createServer((asked, reply) => {
    const path = asked.url ?? "";
    paths.push(path);
    let body = "";
    asked.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    asked.on("end", () => {
      bodies.set(reply, body);
      if (path.startsWith("/v1/requests?")) (words.ask ?? json(approved))(reply);
      else if (path.includes("/wait")) (words.wait ?? json(approved))(reply);
      else if (path.endsWith("/redeem")) (words.redeem ?? json(used))(reply);
      else if (path.endsWith("/batches")) (words.batch ?? json({}))(reply);
      else json({ ...approved })(reply);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, close };
}

/** The result of a gated call, how often it ran, and the requested paths. */
async function tried(words: Words): Promise<{ error: string; ran: number; paths: string[] }> {
  const paths: string[] = [];
  const { port, close } = await standIn(words, paths);
  const client = new Countersign({ agents: `127.0.0.1:${port}`, token: "csa_x", daemonKey });
  let ran = 0;
  const run = gated(() => (ran += 1), { tool: "send", client, timeoutSeconds: 0.001 });
  const error = await run(ARGUMENTS).then(
    () => "",
    (thrown: Error) => {
      assert.equal(thrown.name, "NotApproved", String(thrown));
      return thrown.message;
    },
  );
  close();
  return { error, ran, paths };
}

test("the fake daemon can approve", async () => {
  assert.equal((await tried({})).ran, 1);
  const waited = await tried({ ask: json(pending, 201) });
  assert.equal(waited.ran, 1);
});

test("no impostor is believed", async () => {
  const key = genuine.privateKey;
  const forgeries: Record<string, Forgery> = {
    "no signature": () => undefined,
    "not base64": () => "approved",
    zeros: () => "A".repeat(86),
    "another key": signedWith(another.privateKey),
    "a replayed nonce": signedWith(key, { nonce: "n".repeat(43) }),
    "another call": signedWith(key, { request: "{}" }),
    "another path": signedWith(key, { target: "/v1/requests/0" }),
    "another agent": signedWith(key, { credential: "Bearer csa_y" }),
    "another decision": signedWith(key, { response: "denied" }),
  };
  try {
    for (const [name, forged] of Object.entries(forgeries)) {
      forgery = forged;
      for (const words of [{}, { ask: json(pending, 201) }]) {
        const { error, ran } = await tried(words);
        assert.equal(ran, 0, name);
        assert.match(error, /not trusted/, name);
      }
      // An approval that was believed, and a permit that an impostor claims to have redeemed.
      let answers = 0;
      forgery = (exchange) =>
        (answers += 1) === 1 ? signedWith(key)(exchange) : forged(exchange);
      const { error, ran } = await tried({});
      assert.equal(ran, 0, name);
      assert.match(error, /not trusted/, name);
    }
  } finally {
    forgery = signedWith(key);
  }
});

test("no variable chooses another key, and without a key no daemon is believed", async () => {
  const { port, close } = await standIn({});
  const evil = mkdtempSync(join(tmpdir(), "countersign-evil-"));
  writeFileSync(join(evil, "daemon.pub"), keyText(genuine.publicKey), { mode: 0o644 });
  const variables = {
    HOME: join(evil, "home"),
    COUNTERSIGN_AGENTS: `127.0.0.1:${port}`,
    COUNTERSIGN_STATE: evil,
    XDG_STATE_HOME: evil,
    XDG_CONFIG_HOME: evil,
    COUNTERSIGN_DAEMON_KEY: join(evil, "daemon.pub"),
  };
  const client = new Countersign({ token: "csa_x", variables });
  const call = { tool: "send", arguments: ARGUMENTS };
  await assert.rejects(client.requestConfirmation(call), /not trusted.*countersign keys trust/s);
  rmSync(evil, { recursive: true });
  close();
});

const other = "0".repeat(64);
const lies: Record<string, Words> = {
  "an unknown state": { ask: json({ ...approved, state: "auto_approved" }) },
  "a state in other letters": { ask: json({ ...approved, state: "APPROVED" }) },
  "a decision that says no": { ask: json({ ...approved, decision: { result: "denied", by: {} } }) },
  "no decision": { ask: json({ ...approved, decision: null }) },
  "approved while pending": { ask: json({ ...pending, decision: approved["decision"] }) },
  "another digest": { ask: json({ ...approved, digest: other }) },
  "other bytes": { ask: json({ ...approved, raw_digest: other }) },
  "another agent's digest": { ask: json({ ...approved, agent: "somebody" }) },
  "another request while waiting": {
    ask: json(pending),
    wait: json({ ...approved, id: ID.replace("0", "1") }),
  },
  "another call while waiting": { ask: json(pending), wait: json({ ...approved, digest: other }) },
  "no permit": { ask: json({ ...approved, permit: null }) },
  "no name": { ask: json({ ...approved, id: null }) },
  "a permit of the wrong kind": { ask: json({ ...approved, permit: true }) },
  "an edit of the wrong kind": { ask: json({ ...approved, edited_arguments: "x" }) },
  "a list": { ask: json([approved]) },
  "a word": { ask: json('"approved"') },
  true: { ask: json("true") },
  nothing: { ask: json("") },
  "no JSON": { ask: json("approved") },
  "a page": { ask: json("<html>approved</html>", 200, "text/html") },
  "a redirection": { ask: json(approved, 302) },
  "an error with a good body": { ask: json(approved, 500) },
  "an error as a problem with another status": {
    ask: json({ ...approved, status: 200, detail: "x" }, 500, "application/problem+json"),
  },
  "a body without its length": {
    ask: (reply) => {
      reply.socket?.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${JSON.stringify(approved)}`);
    },
  },
  "an encoded body": {
    ask: (reply) => {
      reply.setHeader("content-encoding", "gzip");
      json(approved)(reply);
    },
  },
  "a broken text": {
    ask: (reply) => {
      reply.writeHead(200, { "content-type": "application/json", "content-length": 2 });
      reply.end(Buffer.from([0xff, 0xfe]));
    },
  },
  "a permit that was not used": { redeem: json({ ...used, redeemed: false }) },
  "a permit that was used for another": { redeem: json({ ...used, request: "x" }) },
  "a permit that was used before": {
    redeem: json(
      {
        type: "urn:countersign:problem:permit",
        title: "t",
        status: 409,
        detail: "used before",
        outcome: "denied",
        error: "used before",
        why: "used",
      },
      409,
      "application/problem+json",
    ),
  },
  "nothing about the permit": { redeem: json("{}") },
};

for (const [what, words] of Object.entries(lies)) {
  test(`${what} does not approve`, async () => {
    const { error, ran } = await tried(words);
    assert.equal(ran, 0);
    assert.match(error, /^send was not run: /);
  });
}

test("a truncated response is retried, and the permit is not used twice", async () => {
  let times = 0;
  const once = await tried({
    ask: (reply) => {
      times += 1;
      if (times > 1) return json(approved)(reply);
      reply.writeHead(200, { "content-type": "application/json", "content-length": 5000 });
      reply.write('{"state":"approved"', () => reply.destroy());
    },
  });
  assert.equal(once.ran, 1);
  assert.equal(once.paths.filter((path) => path.endsWith("/redeem")).length, 1);
});

test("a response for another request does not approve, even without a permit", async () => {
  const { port, close } = await standIn({
    ask: json(pending),
    wait: json({ ...approved, id: ID.replace("0", "1") }),
  });
  const client = new Countersign({ agents: `127.0.0.1:${port}`, token: "csa_x", daemonKey });
  const asked = client.requestConfirmation({ tool: "send", arguments: ARGUMENTS });
  await assert.rejects(asked, /for another request/);
  close();
});

test("a batch response for other calls runs nothing", async () => {
  const answers: Array<[unknown[], number]> = [
    [[approved], 1],
    [[], 0],
    [[approved, approved], 0],
    [[{ ...approved, digest: other }], 0],
    [[{ problem: { detail: "no", status: 403 } }], 0],
    [[null], 0],
    [[true], 0],
  ];
  for (const [requests, times] of answers) {
    const batched = { group: null, parallel: true, stages: [[0]], reasons: [], requests };
    const { port, close } = await standIn({ batch: json(batched) });
    const client = new Countersign({ agents: `127.0.0.1:${port}`, token: "csa_x", daemonKey });
    let ran = 0;
    const calls = [{ tool: "send", arguments: ARGUMENTS, run: () => (ran += 1) }];
    const [result] = await batch(calls, { client });
    close();
    assert.equal(result?.status, times === 1 ? "fulfilled" : "rejected");
    assert.equal(ran, times);
  }
});
