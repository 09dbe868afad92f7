/** Against the real daemon, with a person who answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { batch, Countersign, gated, NotApproved, requestConfirmation } from "../src/index.js";
import { sha256 } from "../src/call.js";
import { House, risky } from "./house.js";

const no = { choice: "deny", reason: "not today" } as const;
const yes = { choice: "approve", reason: "as planned" } as const;

test("one house", async (t) => {
  const house = await House.open(t);
  const client = house.client();
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

  await t.test("approved: runs once with these arguments, permit used, outcome told", async () => {
    const { ran, send } = sender();
    const given = risky(1);
    const sent = send(given, "me");
    // Whatever becomes of the object that was given: what was asked about is what runs.
    given.to = "eve@example.org";
    const asked = await house.answer(yes);
    assert.equal(await sent, "sent by me");
    assert.deepEqual(ran, [risky(1)]);
    assert.equal(asked.session, "s1");
    const reported = await house.reported(asked.id);
    assert.equal(reported.status, "ok");
    assert.equal(reported.result_digest, sha256("sent by me"));
    assert.equal(typeof reported.duration_ms, "number");
    const after = (await house.asOwner("GET", `/v1/requests/${asked.id}`)) as { redeemed: unknown };
    assert.notEqual(after.redeemed, null);
  });

  await t.test("denied: does not run, and says who and why", async () => {
    const { ran, send } = sender();
    const sent = send(risky(2), "me");
    const [said] = await Promise.allSettled([sent, house.answer(no)]);
    assert.ok(said.status === "rejected" && said.reason instanceof NotApproved);
    assert.equal(said.reason.state, "denied");
    assert.equal(said.reason.reason, "not today");
    assert.equal(said.reason.message, "send_message was not run: denied by owner: not today");
    assert.deepEqual(ran, []);
  });

  await t.test("edited: runs with what the person made of it", async () => {
    const { ran, send } = sender();
    const edited = { to: "bo@example.org", text: "A kinder text.", copies: 1e21 };
    const sent = send(risky(3), "me");
    await house.answer({ ...yes, edited_arguments: edited });
    await sent;
    assert.deepEqual(ran, [edited]);
  });

  await t.test("expired: nobody answered", async () => {
    const { ran, send } = sender({ timeoutSeconds: 1 });
    await assert.rejects(send(risky(4), "me"), { name: "NotApproved", state: "expired" });
    assert.deepEqual(ran, []);
  });

  await t.test("a call that needs nobody runs, with a permit all the same", async () => {
    const list = gated(() => "clean", { tool: "terminal", client });
    assert.equal(await list({ command: "git status" }), "clean");
    const [newest] = await house.requests();
    assert.equal(newest?.decision?.by.kind, "policy");
    assert.equal((await house.reported(newest?.id ?? null)).status, "ok");
  });

  await t.test("what the function throws is thrown, and told", async () => {
    const broken = gated(
      () => {
        throw new RangeError("no such mailbox");
      },
      { tool: "send_message", client },
    );
    const failed = assert.rejects(broken(risky(5)), { name: "RangeError" });
    const { id } = await house.answer(yes);
    await failed;
    const { status, summary, duration_ms: took } = await house.reported(id);
    assert.equal(status, "error");
    // The words of an error may hold anything; only its kind is told.
    assert.equal(summary, "RangeError");
    assert.equal(typeof took, "number");
  });

  await t.test("the signal takes the request back", async () => {
    const stop = new AbortController();
    const { ran, send } = sender({ signal: stop.signal, onWaiting: () => stop.abort() });
    await assert.rejects(send(risky(6), "me"), { name: "NotApproved", state: "cancelled" });
    assert.equal((await house.requests())[0]?.state, "cancelled");
    // Set off before anything is asked: nothing is asked.
    const before = (await house.requests()).length;
    await assert.rejects(send(risky(7), "me"), { state: "cancelled" });
    assert.equal((await house.requests()).length, before);
    assert.deepEqual(ran, []);
  });

  await t.test(
    "set off while the question is on its way: taken back when its name is known",
    async () => {
      const stop = new AbortController();
      house.freeze();
      const sent = client.requestConfirmation({ tool: "send_message", arguments: risky(8) }, stop);
      await pause(200);
      stop.abort();
      await assert.rejects(sent, { state: "cancelled" });
      house.thaw();
      const mine = sha256(JSON.stringify(risky(8)));
      let found: string | undefined;
      for (let tries = 0; tries < 200 && found !== "cancelled"; tries += 1) {
        found = (await house.requests()).find((one) => one.raw_digest === mine)?.state;
        await pause(25);
      }
      assert.equal(found, "cancelled");
    },
  );

  await t.test("the same key asks once", async () => {
    const call = { tool: "send_message", arguments: risky(9), key: "only-once" };
    const both = Promise.all([client.requestConfirmation(call), client.requestConfirmation(call)]);
    await house.answer(yes);
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

  await t.test("a permit is for its own call", async () => {
    const call = { tool: "send_message", arguments: risky(11) };
    const coming = client.requestConfirmation(call);
    await house.answer(yes);
    const approval = await coming;
    await assert.rejects(
      client.redeem(call, { ...approval, argumentsText: JSON.stringify(risky(12)) }),
      /another call/,
    );
  });

  await t.test("numbers: what a double cannot hold is refused; hard ones are bound", async () => {
    const lost = client.requestConfirmation({
      tool: "pay",
      arguments: '{"cents":9007199254740993}',
    });
    await assert.rejects(lost, /more digits than a double holds/);
    const hard = { a: 1e21, b: 5e-324, c: -0, d: 0.1, "\u{1f600}": "\u2028", "\ue000": [1.0] };
    const ran: unknown[] = [];
    const pay = gated((args: object) => ran.push(args), { tool: "send_message", client });
    const sent = pay({ ...risky(13), hard });
    await house.answer(yes);
    await sent;
    assert.deepEqual(ran, [{ ...risky(13), hard: { ...hard, c: 0 } }]);
  });

  await t.test("a batch: asked at once, results in order, one no loses no other", async () => {
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
    for (const waiting of await house.waiting(3)) {
      await house.decide(waiting, waiting.raw_digest === unwanted ? no : yes);
    }
    const [one, two, three, four] = await results;
    assert.deepEqual(one, { status: "fulfilled", value: "status" });
    assert.deepEqual(two, { status: "fulfilled", value: "approved" });
    assert.ok(three?.status === "rejected" && three.reason instanceof NotApproved);
    assert.ok(four?.status === "rejected" && /broken/.test(String(four.reason)));
    assert.deepEqual(ran.sort(), ["approved", "breaks", "status"]);
    assert.equal(new Set((await house.requests()).slice(0, 4).map((one) => one.group)).size, 1);
  });

  await t.test("a batch that is taken back leaves nothing waiting", async () => {
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
    assert.equal((await house.waiting(0)).length, 0);
  });

  await t.test(
    "over the socket no token is needed, found as the command line finds it",
    async () => {
      await house.knowUser();
      const variables = { HOME: house.folder, COUNTERSIGN_CONFIG: house.config };
      const own = new Countersign({ variables });
      const coming = requestConfirmation(
        { tool: "send_message", arguments: risky(19) },
        { client: own },
      );
      await house.answer(yes);
      assert.equal((await coming).request.agent, "by-user");
    },
  );

  await t.test("a wrong token is a no", async () => {
    const stranger = new Countersign({ agents: house.agents, token: "csa_nobody" });
    const asked = stranger.requestConfirmation({ tool: "terminal", arguments: { command: "ls" } });
    await assert.rejects(asked, { name: "NotApproved", state: "error" });
  });

  await t.test("assess and screen answer without asking anybody", async () => {
    const assessed = await client.assess({ tool: "terminal", arguments: { command: "rm -rf /" } });
    assert.equal(assessed["tier"], "CRITICAL");
    assert.equal((await client.screen("the weather is fine"))["crisis"], false);
  });
});

test("a daemon that dies and comes back is asked once, and its answer is believed", async (t) => {
  const house = await House.open(t);
  const client = house.client();
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
  await house.kill();
  // A second one comes while nobody is there; it knocks until the door opens.
  const second = send(risky(2));
  await pause(300);
  await house.start();
  await house.answer(yes);
  await house.answer(yes);
  await second;
  while (ran.length < 2) await pause(20);
  assert.deepEqual(
    ran.map((one) => JSON.stringify(one)).sort(),
    [1, 2].map((n) => JSON.stringify(risky(n))),
  );
  assert.equal((await house.requests()).length, 2);
});

test("nobody there, or nobody home: it does not run", async (t) => {
  let ran = 0;
  const run = () => (ran += 1);
  const absent = new Countersign({ agents: "127.0.0.1:1", token: "csa_x" });
  await assert.rejects(gated(run, { tool: "x", client: absent })({}), /does not answer/);
  const nowhere = new Countersign({ agents: "unix:/nonexistent/agents.sock" });
  await assert.rejects(gated(run, { tool: "x", client: nowhere })({}), /does not answer/);
  const house = await House.open(t);
  house.freeze();
  const slow = gated(run, { tool: "x", client: house.client(), timeoutSeconds: 1 })({});
  await assert.rejects(slow, { name: "NotApproved", state: "error" });
  house.thaw();
  assert.equal(ran, 0);
});

test("a gate that only watches lets everything run, with permits", async (t) => {
  const house = await House.open(t, 'mode = "observe"\n');
  const send = gated((args: object) => args, { tool: "send_message", client: house.client() });
  assert.deepEqual(await send(risky(1)), risky(1));
});
