/** The client against the real daemon, with a person who decides. */

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import {
  batch,
  Countersign,
  gated,
  NotApproved,
  requestConfirmation,
  userTexts,
} from "../src/index.js";
import { sha256 } from "../src/call.js";
import { TestDaemon, risky } from "./test-daemon.js";

const no = { choice: "deny", reason: "not today" } as const;
const yes = { choice: "approve", reason: "as planned" } as const;

/** Resolves when the client has started this many submissions; a retry is one of its own. */
function submissions(count: number): Promise<void> {
  return new Promise((resolve) => {
    const started = (message: unknown): void => {
      const { request } = message as { request: ClientRequest };
      if (request.method !== "POST" || !request.path.startsWith("/v1/requests")) return;
      count -= 1;
      if (count > 0) return;
      unsubscribe("http.client.request.start", started);
      resolve();
    };
    subscribe("http.client.request.start", started);
  });
}

test("one daemon", async (t) => {
  const daemon = await TestDaemon.open(t);
  const client = daemon.client();
  /** A gated function that remembers what it ran with. */
  const sender = (more: object = {}) => {
    const ran: unknown[] = [];
    const send = gated(
      (args: { to: string; text: string }, by: string) => {
        ran.push(args);
        return `sent by ${by}`;
      },
      { tool: "send_message", client, session: "s1", ...more },
    );
    return { ran, send };
  };

  await t.test(
    "approved: runs once with these arguments, permit used, outcome reported",
    async () => {
      const { ran, send } = sender();
      const given = risky(1);
      const sent = send(given, "me");
      // Later changes of the object have no effect: the submitted arguments run.
      given.to = "eve@example.org";
      const asked = await daemon.answer(yes);
      assert.equal(await sent, "sent by me");
      assert.deepEqual(ran, [risky(1)]);
      assert.equal(asked.session, "s1");
      const reported = await daemon.reported(asked.id);
      assert.equal(reported.status, "ok");
      assert.equal(reported.result_digest, sha256("sent by me"));
      assert.equal(typeof reported.duration_ms, "number");
      const after = (await daemon.asOwner("GET", `/v1/requests/${asked.id}`)) as {
        redeemed: unknown;
      };
      assert.notEqual(after.redeemed, null);
    },
  );

  await t.test("denied: does not run, and says who and why", async () => {
    const { ran, send } = sender();
    const sent = send(risky(2), "me");
    const [said] = await Promise.allSettled([sent, daemon.answer(no)]);
    assert.ok(said.status === "rejected" && said.reason instanceof NotApproved);
    assert.equal(said.reason.state, "denied");
    assert.equal(said.reason.reason, "not today");
    assert.equal(said.reason.message, "send_message was not run: denied by owner: not today");
    assert.deepEqual(ran, []);
  });

  await t.test("edited: runs with the edited arguments", async () => {
    const { ran, send } = sender();
    const edited = { to: "bo@example.org", text: "A kinder text.", copies: 1e21 };
    const sent = send(risky(3), "me");
    await daemon.answer({ ...yes, edited_arguments: edited });
    await sent;
    assert.deepEqual(ran, [edited]);
  });

  await t.test("expired: does not run", async () => {
    const { ran, send } = sender({ timeoutSeconds: 1 });
    await assert.rejects(send(risky(4), "me"), { name: "NotApproved", state: "expired" });
    assert.deepEqual(ran, []);
  });

  await t.test("a call that needs no decision runs, with a permit", async () => {
    const list = gated(() => "clean", { tool: "terminal", client });
    assert.equal(await list({ command: "git status" }), "clean");
    const [newest] = await daemon.requests();
    assert.equal(newest?.decision?.by.kind, "policy");
    assert.equal((await daemon.reported(newest?.id ?? null)).status, "ok");
  });

  await t.test("an error of the function is rethrown and reported", async () => {
    const broken = gated(
      () => {
        throw new RangeError("no such mailbox");
      },
      { tool: "send_message", client },
    );
    const failed = assert.rejects(broken(risky(5)), { name: "RangeError" });
    const { id } = await daemon.answer(yes);
    await failed;
    const { status, summary, duration_ms: took } = await daemon.reported(id);
    assert.equal(status, "error");
    // An error message may contain secrets; only its name is reported.
    assert.equal(summary, "RangeError");
    assert.equal(typeof took, "number");
  });

  await t.test("the signal cancels the request", async () => {
    const stop = new AbortController();
    const { ran, send } = sender({ signal: stop.signal, onWaiting: () => stop.abort() });
    await assert.rejects(send(risky(6), "me"), { name: "NotApproved", state: "cancelled" });
    assert.equal((await daemon.requests())[0]?.state, "cancelled");
    // Aborted before the submission: nothing is submitted.
    const before = (await daemon.requests()).length;
    await assert.rejects(send(risky(7), "me"), { state: "cancelled" });
    assert.equal((await daemon.requests()).length, before);
    assert.deepEqual(ran, []);
  });

  await t.test("aborted during the submission: cancelled when its id is known", async () => {
    const stop = new AbortController();
    await daemon.freeze();
    const started = submissions(1);
    const sent = client.requestConfirmation({ tool: "send_message", arguments: risky(8) }, stop);
    await started;
    stop.abort();
    await assert.rejects(sent, { state: "cancelled" });
    daemon.thaw();
    const mine = sha256(JSON.stringify(risky(8)));
    let found: string | undefined;
    for (let tries = 0; tries < 200 && found !== "cancelled"; tries += 1) {
      found = (await daemon.requests()).find((one) => one.raw_digest === mine)?.state;
      await pause(25);
    }
    assert.equal(found, "cancelled");
  });

  await t.test("the same key makes one request", async () => {
    const call = { tool: "send_message", arguments: risky(9), key: "only-once" };
    const both = Promise.all([client.requestConfirmation(call), client.requestConfirmation(call)]);
    await daemon.answer(yes);
    const [one, two] = await both;
    assert.equal(one.request.id, two.request.id);
    await client.redeem(call, one);
    await assert.rejects(client.redeem(call, two), /was used at/);
    const other = { ...call, arguments: risky(10) };
    await assert.rejects(client.requestConfirmation(other), {
      name: "NotApproved",
      state: "error",
    });
  });

  await t.test("a permit is valid for its call only", async () => {
    const call = { tool: "send_message", arguments: risky(11) };
    const coming = client.requestConfirmation(call);
    await daemon.answer(yes);
    const approval = await coming;
    await assert.rejects(
      client.redeem(call, { ...approval, argumentsText: JSON.stringify(risky(12)) }),
      /another call/,
    );
  });

  await t.test("numbers: inexact ones are rejected; unusual ones are bound", async () => {
    const lost = client.requestConfirmation({
      tool: "pay",
      arguments: '{"cents":9007199254740993}',
    });
    await assert.rejects(lost, /more digits than a double can represent/);
    const hard = { a: 1e21, b: 5e-324, c: -0, d: 0.1, "\u{1f600}": "\u2028", "\ue000": [1.0] };
    const ran: unknown[] = [];
    const pay = gated((args: object) => ran.push(args), { tool: "send_message", client });
    const sent = pay({ ...risky(13), hard });
    await daemon.answer(yes);
    await sent;
    assert.deepEqual(ran, [{ ...risky(13), hard: { ...hard, c: 0 } }]);
  });

  await t.test(
    "a batch: one group, results in order, a denial does not affect the others",
    async () => {
      const ran: string[] = [];
      const given = risky(14);
      const run = (name: string) => async (args: unknown) => {
        ran.push(name);
        if (name === "approved") assert.deepEqual(args, risky(14));
        if (name === "breaks") throw new Error("broken");
        return name;
      };
      const calls = [
        { tool: "terminal", arguments: { command: "git status" }, run: run("status") },
        { tool: "send_message", arguments: given, run: run("approved") },
        { tool: "send_message", arguments: risky(15), run: run("denied") },
        { tool: "send_message", arguments: risky(16), run: run("breaks") },
      ];
      const results = batch(calls, { client });
      given.to = "eve@example.org";
      const unwanted = sha256(JSON.stringify(risky(15)));
      for (const waiting of await daemon.waiting(3)) {
        await daemon.decide(waiting, waiting.raw_digest === unwanted ? no : yes);
      }
      const [one, two, three, four] = await results;
      assert.deepEqual(one, { status: "fulfilled", value: "status" });
      assert.deepEqual(two, { status: "fulfilled", value: "approved" });
      assert.ok(three?.status === "rejected" && three.reason instanceof NotApproved);
      assert.ok(four?.status === "rejected" && /broken/.test(String(four.reason)));
      assert.deepEqual(ran.sort(), ["approved", "breaks", "status"]);
      assert.equal(new Set((await daemon.requests()).slice(0, 4).map((one) => one.group)).size, 1);
    },
  );

  await t.test("a cancelled batch leaves nothing pending", async () => {
    const stop = new AbortController();
    const calls = [17, 18].map((number) => {
      return { tool: "send_message", arguments: risky(number), run: () => "ran" };
    });
    const asking = { client, signal: stop.signal, onWaiting: () => stop.abort() };
    const results = await batch(calls, asking);
    assert.deepEqual(
      results.map((one) => one.status),
      ["rejected", "rejected"],
    );
    assert.equal((await daemon.waiting(0)).length, 0);
  });

  await t.test(
    "over the socket no token is needed, found as the command line finds it",
    async () => {
      await daemon.knowUser();
      const variables = { HOME: daemon.folder, COUNTERSIGN_CONFIG: daemon.config };
      const own = new Countersign({ variables, daemonKey: daemon.daemonKey });
      const coming = requestConfirmation(
        { tool: "send_message", arguments: risky(19) },
        { client: own },
      );
      await daemon.answer(yes);
      assert.equal((await coming).request.agent, "by-user");
    },
  );

  await t.test("a wrong token is denied", async () => {
    const stranger = new Countersign({ agents: daemon.agents, token: "csa_nobody" });
    const asked = stranger.requestConfirmation({ tool: "terminal", arguments: { command: "ls" } });
    await assert.rejects(asked, { name: "NotApproved", state: "error" });
  });

  await t.test("assess and screen ask no person", async () => {
    const assessed = await client.assess({ tool: "terminal", arguments: { command: "rm -rf /" } });
    assert.equal(assessed["tier"], "CRITICAL");
    assert.equal((await client.screen("the weather is fine"))["crisis"], false);
    assert.deepEqual(userTexts(await client.takeover("a & b")).texts, []);
    const out = await client.screen("the weather is fine", "s", { role: "agent" });
    assert.deepEqual([out["role"], out["decision"]], ["agent", "pass"]);
    await assert.rejects(client.screen("hello", "s", { role: "user", ask: true }));
  });
});

test("requests survive a restart of the daemon and are made once", async (t) => {
  const daemon = await TestDaemon.open(t);
  const client = daemon.client();
  const ran: unknown[] = [];
  const send = gated((args: object) => ran.push(args), { tool: "send_message", client });
  const waits = new Promise<void>((resolve) => {
    const sent = gated((args: object) => ran.push(args), {
      tool: "send_message",
      client,
      onWaiting: () => resolve(),
    })(risky(1));
    t.after(() => sent);
  });
  await waits;
  await daemon.kill();
  // The second call starts while the daemon is down, and retries.
  const retried = submissions(2);
  const second = send(risky(2));
  await retried;
  await daemon.start();
  await daemon.answer(yes);
  await daemon.answer(yes);
  await second;
  while (ran.length < 2) await pause(20);
  assert.deepEqual(
    ran.map((one) => JSON.stringify(one)).sort(),
    [1, 2].map((n) => JSON.stringify(risky(n))),
  );
  assert.equal((await daemon.requests()).length, 2);
});

test("without a daemon, or with one that does not respond, nothing runs", async (t) => {
  let ran = 0;
  const run = () => (ran += 1);
  const absent = new Countersign({ agents: "127.0.0.1:1", token: "csa_x" });
  await assert.rejects(gated(run, { tool: "x", client: absent })({}), /does not answer/);
  const nowhere = new Countersign({ agents: "unix:/nonexistent/agents.sock" });
  await assert.rejects(gated(run, { tool: "x", client: nowhere })({}), /does not answer/);
  const daemon = await TestDaemon.open(t);
  await daemon.freeze();
  const slow = gated(run, { tool: "x", client: daemon.client(), timeoutSeconds: 1 })({});
  await assert.rejects(slow, { name: "NotApproved", state: "error" });
  daemon.thaw();
  assert.equal(ran, 0);
});

test("a freeze refuses every call with its reason, and nothing runs", async (t) => {
  const daemon = await TestDaemon.open(t);
  const client = daemon.client();
  let ran = 0;
  const send = gated(() => (ran += 1), { tool: "send_message", client });
  const read = gated(() => (ran += 1), { tool: "terminal", client });
  assert.equal(await read({ command: "git status" }), 1);
  const denied = assert.rejects(send(risky(1)), { name: "NotApproved" });
  await daemon.waiting(1);
  await daemon.asOwner("POST", "/v1/freeze", {});
  await denied;
  await assert.rejects(send(risky(2)), /frozen by owner/);
  await assert.rejects(read({ command: "git status" }), /frozen by owner/);
  assert.equal(ran, 1);
});

test("a gate that only observes lets everything run, without permits", async (t) => {
  const daemon = await TestDaemon.open(t, 'mode = "observe"\n');
  const send = gated((args: object) => args, { tool: "send_message", client: daemon.client() });
  assert.deepEqual(await send(risky(1)), risky(1));
});
