/** The middleware for LangChain 1, with its fake model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { AIMessage, createAgent, fakeModel, tool, ToolMessage } from "langchain";
import { z } from "zod";

import { countersign } from "../src/adapters/langchain.js";
import { sha256 } from "../src/call.js";
import { TestDaemon, risky } from "./test-daemon.js";
import { adapterContract, type Scenario } from "./contract.js";

const schema = z.object({ to: z.string(), text: z.string() });

function agentFor(play: Scenario) {
  const calls = play.calls.map((args, at) => ({ name: "send_message", args, id: `c${at}` }));
  const model = fakeModel().respondWithTools(calls).respond(new AIMessage("Done."));
  const send = tool(async (args) => play.tool(args), {
    name: "send_message",
    description: "Sends a message.",
    schema,
  });
  const agent = createAgent({ model, tools: [send], middleware: [countersign(play.options)] });
  return { agent, model };
}

const messages = [{ role: "user", content: "Tell Bo." }];

adapterContract("LangChain", async (play) => {
  const { agent, model } = agentFor(play);
  await agent.invoke({ messages }, play.signal === undefined ? {} : { signal: play.signal });
  return JSON.stringify(model.calls[1]?.messages ?? "");
});

test("a denied call is a tool message with status error; the thread is the session", async (t) => {
  const daemon = await TestDaemon.open(t);
  const play = { options: { client: daemon.client() }, calls: [risky(1)], tool: () => "ran" };
  const { agent } = agentFor(play);
  const coming = agent.invoke({ messages }, { configurable: { thread_id: "thread-9" } });
  const asked = await daemon.answer({ choice: "deny", reason: "no" });
  const found = (await coming).messages.find((one) => one instanceof ToolMessage);
  assert.equal(found?.status, "error");
  assert.equal(found?.tool_call_id, "c0");
  assert.equal(asked.session, "thread-9");
});

test("a turn is one group in order, and a denial does not affect the others", async (t) => {
  const daemon = await TestDaemon.open(t);
  const ran: unknown[] = [];
  const tool = (args: unknown) => `sent ${ran.push(args)}`;
  const calls = [risky(1), risky(2), risky(3)];
  const { agent } = agentFor({ options: { client: daemon.client() }, calls, tool });
  const coming = agent.invoke({ messages });
  const waiting = await daemon.waiting(3);
  assert.equal(new Set(waiting.map((one) => one.group)).size, 1);
  assert.notEqual(waiting[0]?.group, null);
  const [one, two, three] = calls.map((args) => {
    const found = waiting.find((each) => each.raw_digest === sha256(JSON.stringify(args)));
    assert.ok(found !== undefined);
    return found;
  });
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  await daemon.decide(three, { choice: "approve", reason: "as planned" });
  await daemon.decide(two, { choice: "deny", reason: "not the second" });
  // It is approved, but must wait for the earlier call: the adapter reads the clock at each look.
  const clock = t.mock.method(performance, "now");
  while (ran.length === 0 && clock.mock.callCount() < 20) await pause(10);
  clock.mock.restore();
  assert.deepEqual(ran, []);
  await daemon.decide(one, { choice: "approve", reason: "as planned" });
  const said = (await coming).messages.filter((each) => each instanceof ToolMessage);
  assert.deepEqual(
    said.map((each) => [each.tool_call_id, each.status ?? "success"]),
    [
      ["c0", "success"],
      ["c1", "error"],
      ["c2", "success"],
    ],
  );
  assert.match(String(said[1]?.content), /not the second/);
  assert.deepEqual(ran, [risky(1), risky(3)]);
});
