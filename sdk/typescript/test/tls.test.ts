/** https to a real daemon: only the pinned key or the given authority is believed. */

import assert from "node:assert/strict";
import { chmodSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Countersign, gated } from "../src/index.js";
import { parseEndpoint } from "../src/endpoint.js";
import { exchange } from "../src/http.js";
import { TestDaemon, risky } from "./test-daemon.js";

const TLS = "tls = true\n";
const yes = { choice: "approve", reason: "as planned" } as const;

test("https", async (t) => {
  const daemon = await TestDaemon.open(t, "", TLS);
  const impostor = await TestDaemon.open(t, "", TLS);
  const at = (named: TestDaemon, trust: string): string =>
    named.agents.replace(/#.*$/, `#${trust}`);
  /** Sends a message after an approval by the daemon at this address; remembers what ran. */
  const sender = (agents: string) => {
    const client = new Countersign({ agents, token: daemon.token, daemonKey: daemon.daemonKey });
    const ran: unknown[] = [];
    const run = (args: { to: string; text: string }): void => void ran.push(args);
    return { ran, send: gated(run, { tool: "send_message", client }) };
  };

  await t.test("a person approves, by pin and by CA file", async () => {
    for (const [number, trust] of [daemon.pin, `ca:${daemon.certificate}`].entries()) {
      const { ran, send } = sender(at(daemon, trust));
      const sent = send(risky(number));
      await daemon.answer(yes);
      await sent;
      assert.equal(ran.length, 1);
    }
  });

  await t.test("another key is refused and hears nothing", async () => {
    // A variable that turns the checks of Node off changes nothing.
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    for (const trust of [daemon.pin, `ca:${daemon.certificate}`]) {
      const { ran, send } = sender(at(impostor, trust));
      await assert.rejects(send(risky(7)), /certificate .* is refused/s);
      assert.equal(ran.length, 0);
    }
    delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    assert.equal((await impostor.requests()).length, 0);
  });

  await t.test("a certificate outside its validity is refused", async () => {
    const real = Date.now;
    const day = 86_400_000;
    try {
      for (const [days, why] of [[500, /expired/], [-500, /not valid yet/]] as const) {
        Date.now = () => real() + days * day;
        await assert.rejects(sender(daemon.agents).send(risky(8)), why);
      }
    } finally {
      Date.now = real;
    }
  });

  await t.test("plain http to a TLS port fails", async () => {
    const plain = daemon.agents.replace(/^https:\/\/(.*)#.*$/, "$1");
    const health = { method: "GET", path: "/health", patience: 5_000 } as const;
    await assert.rejects(exchange(parseEndpoint(plain), undefined, health));
  });

  await t.test("a CA file that others can change is refused", async () => {
    const file = join(daemon.folder, "ca.pem");
    copyFileSync(daemon.certificate, file);
    chmodSync(file, 0o666);
    await assert.rejects(sender(at(daemon, `ca:${file}`)).send(risky(10)), /other users can change/);
  });

  await t.test("an https address names what is trusted", () => {
    for (const bad of ["", "#", "#none", "#sha256:00", "#ca:relative.pem"]) {
      assert.throws(() => parseEndpoint(`https://127.0.0.1:6000${bad}`), /countersign keys tls/);
    }
    assert.throws(() => parseEndpoint(`http://127.0.0.1:6000#${daemon.pin}`));
  });
});
