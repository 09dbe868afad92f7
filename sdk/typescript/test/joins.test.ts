/** Joined requests, and outcomes of calls that other programs ran. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { sha256 } from "../src/call.js";
import { gated } from "../src/index.js";
import { TestDaemon, risky } from "./test-daemon.js";

const yes = { choice: "approve", reason: "as planned" } as const;

test("repeated calls", async (t) => {
  const daemon = await TestDaemon.open(t);
  const client = daemon.client();
  const call = (number: number, more: object = {}) => ({
    tool: "send_message",
    arguments: risky(number),
    ...more,
  });
  const run = () => "ran";

  await t.test("after the patience the request stays pending, and a retry joins it", async () => {
    const first = await client.attempt(call(1), run, { patienceSeconds: 0.3 });
    assert.ok(!first.ran && first.refusal.state === "waiting");
    const id = first.refusal.request?.id ?? "";
    assert.ok(first.refusal.message.includes(id));
    const waiting = await daemon.answer(yes);
    assert.equal(waiting.id, id);
    const second = await client.attempt(call(1), run, { patienceSeconds: 20 });
    assert.ok(second.ran && second.approval.request.id === id);
    // An approval is used once: the next call waits again.
    const third = await client.attempt(call(1), run, { patienceSeconds: 0.3 });
    assert.ok(!third.ran && third.refusal.state === "waiting");
    await client.cancel(third.refusal.request?.id ?? "");
  });

  await t.test("a function that is called again continues to wait", async () => {
    const send = gated(run, { tool: "send_message", client, patienceSeconds: 0.3 });
    await assert.rejects(send(risky(2)), { name: "NotApproved", state: "waiting" });
    await daemon.answer(yes);
    assert.equal(await send(risky(2)), "ran");
  });

  await t.test("requestConfirmation does not share an approval", async () => {
    const both = [client.requestConfirmation(call(3)), client.requestConfirmation(call(3))];
    for (const waiting of await daemon.waiting(2)) await daemon.decide(waiting, yes);
    const [one, two] = await Promise.all(both);
    assert.notEqual(one?.request.id, two?.request.id);
  });

  await t.test("two identical calls need two approvals", async () => {
    const both = [client.attempt(call(4), run), client.attempt(call(4), run)];
    await daemon.answer(yes);
    await daemon.answer(yes);
    const ids = (await Promise.all(both)).map((one) => (one.ran ? one.approval.request.id : null));
    assert.equal(new Set(ids).size, 2);
    assert.ok(!ids.includes(null));
  });

  await t.test("a call id with an expired request is asked again; a denial stays", async () => {
    const silent = call(5, { callId: "c5", timeoutSeconds: 1 });
    const first = await client.attempt(silent, run);
    assert.ok(!first.ran && first.refusal.state === "expired");
    const second = client.attempt(silent, run);
    await daemon.answer({ choice: "deny", reason: "no" });
    assert.ok(!(await second).ran);
    const named = call(6, { callId: "c6" });
    const third = client.attempt(named, run);
    await daemon.answer({ choice: "deny", reason: "no" });
    await third;
    const again = await client.attempt(named, run, { patienceSeconds: 5 });
    assert.ok(!again.ran && again.refusal.state === "denied");
  });

  await t.test("a request can be submitted, joined, read, waited for and listed", async () => {
    const first = await client.submit(call(7));
    const second = await client.submit(call(7), { join: true });
    assert.equal(second.id, first.id);
    const id = first.id ?? "";
    assert.equal((await client.get(id)).state, "pending");
    assert.equal((await client.wait(id, 0)).state, "pending");
    assert.ok((await client.requests("pending")).some((one) => one.id === id));
    assert.equal(await client.health(), 1);
    await client.ready();
    await client.cancel(id);
  });

  await t.test("the outcome of a call can be reported without its request", async () => {
    const named = call(8, { callId: "c8" });
    const coming = client.requestConfirmation(named);
    const { id } = await daemon.answer(yes);
    await coming;
    const resultDigest = sha256("sent");
    const outcome = { status: "error", exitCode: 2, durationMs: 7, resultDigest } as const;
    assert.equal(await client.reportOutcome(named, { ...outcome, summary: "it broke" }), id);
    assert.deepEqual(await daemon.reported(id), {
      status: "error",
      summary: "it broke",
      exit_code: 2,
      duration_ms: 7,
      result_digest: resultDigest,
    });
    assert.equal(await client.reportOutcome(call(9), "ok"), null);
    const bad = { status: "ok", resultDigest: "short" } as const;
    await assert.rejects(client.reportOutcome(named, bad), /SHA-256/);
  });

  await t.test("reported passes are assessed again and counted", async () => {
    const look = { tool: "terminal", arguments: { command: "ls" } };
    const wipe = { tool: "terminal", arguments: { command: "rm -rf /" } };
    assert.equal(
      await client.reportPasses("sdk", [
        [look, 1.5],
        [wipe, 0],
      ]),
      1,
    );
  });

  await t.test("annotations can only raise the tier", async () => {
    assert.equal((await client.assess({ tool: "list_things" }))["tier"], "SAFE");
    const annotations = { destructiveHint: true };
    assert.notEqual((await client.assess({ tool: "list_things", annotations }))["tier"], "SAFE");
  });
});

test("when the daemon stops, the request stays pending and its id is known", async (t) => {
  const daemon = await TestDaemon.open(t);
  const asking = { patienceSeconds: 2, onWaiting: () => void daemon.kill() };
  const call = { tool: "send_message", arguments: risky(1) };
  const attempt = await daemon.client().attempt(call, () => "ran", asking);
  assert.ok(!attempt.ran && attempt.refusal.state === "waiting");
  assert.match(attempt.refusal.message, /request [0-9a-z]{26}/);
});
