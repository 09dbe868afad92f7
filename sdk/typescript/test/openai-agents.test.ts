/** The adapter for the OpenAI Agents SDK, with its scripted model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Agent, Runner, tool, webSearchTool } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import { z } from "zod";

import { gatedTool, gatedTools } from "../src/adapters/openai-agents.js";
import { TestDaemon, risky } from "./test-daemon.js";
import { adapterContract } from "./contract.js";

const parameters = z.object({ to: z.string(), text: z.string() });
const runner = new Runner({ tracingDisabled: true });

adapterContract(
  "OpenAI Agents SDK",
  async (play) => {
    const calls = play.calls.map((args, at) =>
      functionCall("send_message", args, { callId: `c${at}` }),
    );
    const model = new ScriptedModel([calls, [assistantMessage("Done.")]]);
    const send = tool({
      name: "send_message",
      description: "Sends a message.",
      parameters,
      execute: async (args) => play.tool(args),
    });
    const agent = new Agent({ name: "Mail", model, tools: gatedTools([send], play.options) });
    await runner.run(agent, "Tell Bo.", play.signal === undefined ? {} : { signal: play.signal });
    return JSON.stringify(model.calls[1]?.request.input ?? "");
  },
  { swallowsErrors: true },
);

test("a tool's own timeout cancels the request, and it does not run later", async (t) => {
  const daemon = await TestDaemon.open(t);
  let ran = 0;
  const model = new ScriptedModel([
    [functionCall("send_message", risky(1), { callId: "c" })],
    [assistantMessage("Done.")],
  ]);
  const send = tool({
    name: "send_message",
    description: "Sends a message.",
    parameters,
    timeoutMs: 300,
    execute: async () => String((ran += 1)),
  });
  const tools = [gatedTool(send, { client: daemon.client() })];
  await runner.run(new Agent({ name: "Mail", model, tools }), "Tell Bo.");
  assert.match(JSON.stringify(model.calls[1]?.request.input), /timed out/);
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await daemon.requests())[0]?.state === "cancelled") break;
    await pause(25);
  }
  assert.equal((await daemon.requests())[0]?.state, "cancelled");
  assert.equal(ran, 0);
});

test("the arguments are assessed exactly as the model wrote them", async (t) => {
  const daemon = await TestDaemon.open(t);
  const ran: string[] = [];
  const bare = {
    type: "function" as const,
    name: "send_message",
    invoke: async (_: unknown, input: string) => ran.push(input),
  };
  const { invoke } = gatedTool(bare, { client: daemon.client() });
  for (const input of [
    "{",
    "[]",
    '{"to":"a","to":"b"}',
    '{"id":9007199254740993}',
    '{"to":1e999}',
  ]) {
    assert.match(String(await invoke({}, input)), /^send_message was not run: denied: /, input);
  }
  assert.deepEqual(ran, []);
  // Exactly as written, with its spaces.
  const written = '{"to": "bo@example.org", "text":"x", "n":1.0}';
  const coming = invoke({}, written);
  await daemon.answer({ choice: "approve", reason: "as planned" });
  await coming;
  assert.deepEqual(ran, [written]);
});

test("a tool that runs at the provider is rejected", () => {
  assert.throws(() => gatedTools([webSearchTool()]), /web_search is not a function tool/);
});
