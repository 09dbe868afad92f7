// A real push service for tests (web-push-testing) decrypts what the gate sends to a browser.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { TOOLS, PEOPLE, AGENTS, AGENT_TOKEN, OWNER_TOKEN, PASSPHRASE, SERVICE_PORT } = process.env;
const need = createRequire(`${TOOLS}/package.json`);
const { PushApiModel } = need("web-push-testing/src/PushApiModel.js");
const WebPushTestingServer = need("web-push-testing/src/server.js");
const SERVICE = `http://localhost:${SERVICE_PORT}`;

new WebPushTestingServer(new PushApiModel(), Number(SERVICE_PORT)).startServer();

async function post(url, body, token, method = "POST") {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  if (token === OWNER_TOKEN && method !== "GET") headers["x-countersign-step-up"] = `passphrase ${Buffer.from(PASSPHRASE).toString("base64url")}`;
  const response = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const said = await response.json().catch(() => ({}));
  return { status: response.status, ...said };
}

const owner = (method, path, body) => post(PEOPLE + path, body, OWNER_TOKEN, method);
const agent = (method, path, body) => post(AGENTS + path, body, AGENT_TOKEN, method);
let number = 0;
const ask = () => agent("POST", "/v1/requests", { tool: "send_message", arguments: { to: "bo@example.org", text: `a secret word ${++number}` }, timeout_seconds: 300 });

async function until(what, act) {
  for (let turn = 0; turn < 200; turn += 1) {
    const found = await act();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not within ten seconds: ${what}`);
}

const { key } = await owner("GET", "/v1/push");
const { data } = await post(`${SERVICE}/subscribe`, { userVisibleOnly: "true", applicationServerKey: key });
const messages = async () => (await post(`${SERVICE}/get-notifications`, { clientHash: data.clientHash })).data.messages.map((text) => JSON.parse(text));
const called = { endpoint: data.endpoint, p256dh: data.keys.p256dh, auth: data.keys.auth, called: "a browser for tests" };

for (const [change, status] of [[{ endpoint: "ftp://x" }, 400], [{ auth: "AAAA" }, 400], [{ p256dh: "AAAA" }, 400], [{ more: 1 }, 400]]) {
  assert.equal((await owner("POST", "/v1/push", { ...called, ...change })).status, status);
}
console.log("what is no browser is refused");

const added = await owner("POST", "/v1/push", called);
assert.equal(added.status, 201);
const asked = await ask();
const start = Date.now();
const [first] = await until("a push", async () => { const all = await messages(); return all.length ? all : null; });
assert.equal(first.request, asked.id);
assert.ok(!JSON.stringify(first).includes("secret word"), "the call's own words are not in it");
console.log(`a request is pushed, signed and sealed, and opened by the service's own library: ${Date.now() - start} ms`);

await owner("POST", `/v1/requests/${asked.id}/decision`, { choice: "deny", digest: asked.digest });
const over = await until("the end", async () => (await messages()).find(({ kind }) => kind === "ended"));
assert.deepEqual([over.topic, over.request], [first.topic, null]);
console.log("its end replaces it");

await post(`${SERVICE}/expire-subscription/${data.clientHash}`, {});
await ask();
await until("an empty list", async () => (await owner("GET", "/v1/push")).browsers.length === 0);
const { entries } = await owner("GET", "/v1/ledger/entries?from=0&limit=1000");
assert.ok(entries.some(({ facts }) => facts?.what === "push ended" && facts.by === "the push service"));
console.log("a browser that is gone is taken out, and the ledger says so");
process.exit(0);
