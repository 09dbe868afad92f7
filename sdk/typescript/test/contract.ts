/** Tests that every adapter must pass with its real framework and the framework's own test model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import type { AdapterOptions } from "../src/adapters/options.js";
import { Countersign } from "../src/index.js";
import { TestDaemon, risky } from "./test-daemon.js";

/** One run: the options, the calls of the model, and the behaviour of the tool. */
export interface Scenario {
  readonly options: AdapterOptions;
  /** The arguments of each `send_message` call, made in one turn. */
  readonly calls: ReadonlyArray<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  /** Runs inside the tool. */
  readonly tool: (args: unknown) => string;
}

/** The messages that the model got in its second turn, as text; empty if there was none. */
export type Framework = (play: Scenario) => Promise<string>;

/** Some frameworks turn an error of a tool into text before the adapter sees it. */
export interface Traits {
  readonly swallowsErrors?: boolean;
}

export function adapterContract(name: string, framework: Framework, traits: Traits = {}): void {
  test(name, async (t) => {
    const daemon = await TestDaemon.open(t);
    const client = daemon.client();
    const runScenario = (
      calls: Scenario["calls"],
      more: Partial<Scenario> = {},
    ): { ran: unknown[]; seen: Promise<string> } => {
      const ran: unknown[] = [];
      const tool = (args: unknown): string => {
        ran.push(args);
        return "the message is on its way";
      };
      return { ran, seen: framework({ options: { client }, calls, tool, ...more }) };
    };
    const quiet = { choice: "approve", reason: "as planned" } as const;

    await t.test("approved: runs exactly once, and the model sees its result", async () => {
      const { ran, seen } = runScenario([risky(1)], { options: { client, session: "thread-7" } });
      const asked = await daemon.answer(quiet);
      assert.match(await seen, /the message is on its way/);
      assert.deepEqual(ran, [risky(1)]);
      assert.equal(asked.tool, "send_message");
      assert.equal(asked.session, "thread-7");
      const reported = await daemon.reported(asked.id);
      assert.equal(reported.status, "ok");
      assert.equal(typeof reported.duration_ms, "number");
    });

    await t.test("denied: does not run, and the model sees who and why", async () => {
      const { ran, seen } = runScenario([risky(2)]);
      await daemon.answer({ choice: "deny", reason: "Bo is on holiday" });
      assert.match(await seen, /send_message was not run: denied by owner: Bo is on holiday/);
      assert.deepEqual(ran, []);
    });

    await t.test("edited: runs with the edited arguments", async () => {
      const edited = { to: "bo@example.org", text: "Kinder." };
      const { ran, seen } = runScenario([risky(3)]);
      await daemon.answer({ ...quiet, edited_arguments: edited });
      await seen;
      assert.deepEqual(ran, [edited]);
    });

    await t.test("two at once: each has its own answer", async () => {
      const { ran, seen } = runScenario([risky(4), risky(5)]);
      const [one, two] = await daemon.waiting(2);
      assert.ok(one !== undefined && two !== undefined);
      await daemon.decide(one, { choice: "deny", reason: "once is enough" });
      await daemon.decide(two, quiet);
      const text = await seen;
      assert.match(text, /once is enough/);
      assert.match(text, /the message is on its way/);
      assert.equal(ran.length, 1);
    });

    await t.test(
      "out of time: the model is told, and the same call continues to wait",
      async () => {
        const options = { client, patienceSeconds: 0.3 };
        const first = runScenario([risky(20)], { options });
        assert.match(await first.seen, /a person has not decided yet \(request [0-9a-z]+,/);
        const asked = await daemon.answer(quiet);
        const second = runScenario([risky(20)], { options });
        assert.match(await second.seen, /the message is on its way/);
        assert.deepEqual([first.ran, second.ran], [[], [risky(20)]]);
        assert.equal((await daemon.reported(asked.id)).status, "ok");
      },
    );

    await t.test("the framework's call id finds its request", async () => {
      const first = runScenario([risky(21)]);
      await daemon.answer({ choice: "deny", reason: "said once" });
      await first.seen;
      const before = (await daemon.requests()).length;
      assert.match(await runScenario([risky(21)]).seen, /denied by owner: said once/);
      assert.equal((await daemon.requests()).length, before);
    });

    await t.test("expired: does not run, and the model is told", async () => {
      const { ran, seen } = runScenario([risky(6)], { options: { client, timeoutSeconds: 1 } });
      assert.match(await seen, /not run: expired: no person answered before the deadline/);
      assert.deepEqual(ran, []);
    });

    await t.test("cancelled: does not run, and the request is cancelled", async () => {
      const stop = new AbortController();
      const { ran, seen } = runScenario([risky(7)], {
        signal: stop.signal,
        options: { client, onWaiting: () => setTimeout(() => stop.abort(), 50) },
      });
      await seen.catch(() => undefined);
      for (let tries = 0; tries < 100; tries += 1) {
        if ((await daemon.requests())[0]?.state === "cancelled") break;
        await pause(25);
      }
      assert.equal((await daemon.requests())[0]?.state, "cancelled");
      assert.deepEqual(ran, []);
    });

    await t.test(
      "a failing tool is reported as failed, if the framework passes the error",
      async () => {
        const { seen } = runScenario([risky(8)], {
          tool: () => {
            throw new RangeError("no such mailbox");
          },
        });
        const { id } = await daemon.answer(quiet);
        await seen.catch(() => undefined);
        const expected = traits.swallowsErrors === true ? "ok" : "error";
        assert.equal((await daemon.reported(id)).status, expected);
      },
    );

    await t.test("no daemon: does not run, and the model is told", async () => {
      const absent = new Countersign({ agents: "127.0.0.1:1", token: "csa_x" });
      const { ran, seen } = runScenario([risky(9)], { options: { client: absent } });
      assert.match(await seen, /send_message was not run: denied: .*does not answer/);
      assert.deepEqual(ran, []);
    });

    await t.test("a daemon that does not respond: does not run", async () => {
      await daemon.freeze();
      const { ran, seen } = runScenario([risky(10)], { options: { client, patienceSeconds: 1 } });
      const text = await seen.finally(() => daemon.thaw());
      assert.match(text, /send_message was not run: denied: .*does not answer/);
      assert.deepEqual(ran, []);
    });
  });
}
