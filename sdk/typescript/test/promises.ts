/** What every adapter promises, held against its real framework and the framework's own model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import type { AdapterOptions } from "../src/adapters/options.js";
import { Countersign } from "../src/index.js";
import { House, risky } from "./house.js";

/** What a run is given: how to ask, which calls the model makes, and how the tool behaves. */
export interface Play {
  readonly options: AdapterOptions;
  /** The arguments of each `send_message` call, made in one turn. */
  readonly calls: ReadonlyArray<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  /** Runs inside the tool. */
  readonly tool: (args: unknown) => string;
}

/** Everything that the model was shown in its second turn, as text; empty if there was none. */
export type Framework = (play: Play) => Promise<string>;

/** Some frameworks make a text of what a tool throws before anybody else sees it. */
export interface Traits {
  readonly swallowsErrors?: boolean;
}

export function promises(name: string, framework: Framework, traits: Traits = {}): void {
  test(name, async (t) => {
    const house = await House.open(t);
    const client = house.client();
    const played = (
      calls: Play["calls"],
      more: Partial<Play> = {},
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
      const { ran, seen } = played([risky(1)], { options: { client, session: "thread-7" } });
      const asked = await house.answer(quiet);
      assert.match(await seen, /the message is on its way/);
      assert.deepEqual(ran, [risky(1)]);
      assert.equal(asked.tool, "send_message");
      assert.equal(asked.session, "thread-7");
      const reported = await house.reported(asked.id);
      assert.equal(reported.status, "ok");
      assert.equal(typeof reported.duration_ms, "number");
    });

    await t.test("denied: does not run, and the model sees who and why", async () => {
      const { ran, seen } = played([risky(2)]);
      await house.answer({ choice: "deny", reason: "Bo is on holiday" });
      assert.match(await seen, /send_message was not run: denied by owner: Bo is on holiday/);
      assert.deepEqual(ran, []);
    });

    await t.test("edited: runs with what the person made of it", async () => {
      const edited = { to: "bo@example.org", text: "Kinder." };
      const { ran, seen } = played([risky(3)]);
      await house.answer({ ...quiet, edited_arguments: edited });
      await seen;
      assert.deepEqual(ran, [edited]);
    });

    await t.test("two at once: each has its own answer", async () => {
      const { ran, seen } = played([risky(4), risky(5)]);
      const [one, two] = await house.waiting(2);
      assert.ok(one !== undefined && two !== undefined);
      await house.decide(one, { choice: "deny", reason: "once is enough" });
      await house.decide(two, quiet);
      const text = await seen;
      assert.match(text, /once is enough/);
      assert.match(text, /the message is on its way/);
      assert.equal(ran.length, 1);
    });

    await t.test("no more patience: the model is told, and the same call goes on", async () => {
      const options = { client, patienceSeconds: 0.3 };
      const first = played([risky(20)], { options });
      assert.match(await first.seen, /still waiting for a person \(request [0-9a-z]+,/);
      const asked = await house.answer(quiet);
      const second = played([risky(20)], { options });
      assert.match(await second.seen, /the message is on its way/);
      assert.deepEqual([first.ran, second.ran], [[], [risky(20)]]);
      assert.equal((await house.reported(asked.id)).status, "ok");
    });

    await t.test("the framework's own name for a call finds its request", async () => {
      const first = played([risky(21)]);
      await house.answer({ choice: "deny", reason: "said once" });
      await first.seen;
      const before = (await house.requests()).length;
      assert.match(await played([risky(21)]).seen, /denied by owner: said once/);
      assert.equal((await house.requests()).length, before);
    });

    await t.test("nobody answers: does not run, and the model is told", async () => {
      const { ran, seen } = played([risky(6)], { options: { client, timeoutSeconds: 1 } });
      assert.match(await seen, /not run: expired: nobody answered in time/);
      assert.deepEqual(ran, []);
    });

    await t.test("taken back: does not run, and nobody is asked any longer", async () => {
      const stop = new AbortController();
      const { ran, seen } = played([risky(7)], {
        signal: stop.signal,
        options: { client, onWaiting: () => setTimeout(() => stop.abort(), 50) },
      });
      await seen.catch(() => undefined);
      for (let tries = 0; tries < 100; tries += 1) {
        if ((await house.requests())[0]?.state === "cancelled") break;
        await pause(25);
      }
      assert.equal((await house.requests())[0]?.state, "cancelled");
      assert.deepEqual(ran, []);
    });

    await t.test(
      "a tool that fails is told as failed, where the framework lets us see it",
      async () => {
        const { seen } = played([risky(8)], {
          tool: () => {
            throw new RangeError("no such mailbox");
          },
        });
        const { id } = await house.answer(quiet);
        await seen.catch(() => undefined);
        const expected = traits.swallowsErrors === true ? "ok" : "error";
        assert.equal((await house.reported(id)).status, expected);
      },
    );

    await t.test("no daemon: does not run, and the model is told", async () => {
      const absent = new Countersign({ agents: "127.0.0.1:1", token: "csa_x" });
      const { ran, seen } = played([risky(9)], { options: { client: absent } });
      assert.match(await seen, /send_message was not run: denied: .*does not answer/);
      assert.deepEqual(ran, []);
    });

    await t.test("a daemon that says nothing: does not run", async () => {
      house.freeze();
      const { ran, seen } = played([risky(10)], { options: { client, patienceSeconds: 1 } });
      const text = await seen.finally(() => house.thaw());
      assert.match(text, /send_message was not run: denied: .*does not answer/);
      assert.deepEqual(ran, []);
    });
  });
}
