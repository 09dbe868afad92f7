/** A person in crisis gets the card with and without the daemon, and without the program. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";

import { Countersign, userTexts } from "../src/index.js";
import { STATIC_CARD } from "../src/static-card.js";

const SIGN = "I want to kill myself tonight";
const CALM = "please sort my photos";
const NOWHERE = { agents: "unix:/nowhere/agents.sock" };

const cardText = (found: Record<string, unknown>): string =>
  (found["card"] as { text: string }).text;

test("the card comes without a daemon", async () => {
  const client = new Countersign(NOWHERE);
  const sign = await client.screen(SIGN, "s");
  assert.deepEqual([sign["concern"], sign["decision"]], ["likely", "help"]);
  assert.match(cardText(sign), /988/u);
  assert.match(String(sign["offline"]), /agents\.sock/u);
  const calm = await client.screen(CALM, "s");
  assert.deepEqual([calm["concern"], calm["decision"], calm["card"]], ["none", "pass", null]);
});

test("a daemon that never answers does not hold back the card", async (t) => {
  const open: Socket[] = [];
  const server = createServer((socket) => open.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const client = new Countersign({ agents: `127.0.0.1:${address.port}`, token: "csa_x" });
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  // The exchange itself would wait for half a minute.
  const began = Date.now();
  const sign = await client.screen(SIGN, "s");
  assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`);
  assert.match(cardText(sign), /988/u);
  assert.match(String(sign["offline"]), /not answered yet/u);
});

test("without the program there is a fixed card", async () => {
  const variables = { ...process.env, COUNTERSIGN_BINARY: "/nowhere/countersign" };
  const client = new Countersign({ ...NOWHERE, variables });
  for (const text of [SIGN, CALM]) {
    const found = await client.screen(text, "s");
    assert.equal(cardText(found), STATIC_CARD);
    assert.deepEqual([found["concern"], found["decision"]], ["unknown", "help"]);
  }
});

test("a text of the agent needs the daemon", async () => {
  const client = new Countersign(NOWHERE);
  await assert.rejects(client.screen(CALM, "s", { role: "agent" }), { name: "Fault" });
  await assert.rejects(client.screen(CALM, "s", { ask: true }), { kind: "input" });
});

test("what the user sees is read from an answer", () => {
  const messages = [
    { number: 1, text: "I am Ana." },
    { number: "2", text: "x" },
    "text",
    { number: 2, text: "Are you safe?" },
  ];
  const answer = {
    card: { text: "the card" },
    notice: { text: "no answer, the card" },
    takeover: { notice: "a person writes", messages },
  };
  const shown = ["no answer, the card", "a person writes", "I am Ana.", "Are you safe?"];
  assert.deepEqual(userTexts(answer).texts, shown);
  assert.deepEqual(userTexts(answer, 1).texts, [shown[0], shown[3]]);
  assert.deepEqual(userTexts({ takeover: null, notice: null, card: null }).texts, []);
  assert.deepEqual(userTexts({ takeover: { messages: 1 } }).texts, []);
});
