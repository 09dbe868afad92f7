/** The adapter for the Vercel AI SDK, against both of its major versions. */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as ai7 from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as ai6 from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { z } from "zod";

import { gatedTool, gatedTools } from "../src/adapters/vercel-ai.js";
import { TestDaemon, risky } from "./test-daemon.js";
import { adapterContract, type Scenario } from "./contract.js";

const inputSchema = z.object({ to: z.string(), text: z.string() });
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The model's two turns: the calls, then a text. */
function turns(play: Scenario) {
  const calls = play.calls.map((args, at) => ({
    type: "tool-call" as const,
    toolCallId: `call-${at}`,
    toolName: "send_message",
    input: JSON.stringify(args),
  }));
  const end = (unified: "tool-calls" | "stop") => ({ unified, raw: undefined });
  return [
    { content: calls, finishReason: end("tool-calls"), usage, warnings: [] },
    {
      content: [{ type: "text" as const, text: "Done." }],
      finishReason: end("stop"),
      usage,
      warnings: [],
    },
  ];
}

const prompt = "Tell Bo.";
const signalled = (play: Scenario) =>
  play.signal === undefined ? {} : { abortSignal: play.signal };

adapterContract("Vercel AI SDK 7", async (play) => {
  const model = new MockLanguageModelV4({ doGenerate: turns(play) });
  const send_message = ai7.tool({ inputSchema, execute: async (input) => play.tool(input) });
  const tools = gatedTools({ send_message }, play.options);
  await ai7.generateText({
    model,
    tools,
    prompt,
    stopWhen: ai7.stepCountIs(2),
    ...signalled(play),
  });
  return JSON.stringify(model.doGenerateCalls[1]?.prompt ?? "");
});

adapterContract("Vercel AI SDK 6", async (play) => {
  const model = new MockLanguageModelV3({ doGenerate: turns(play) });
  const send_message = ai6.tool({ inputSchema, execute: async (input) => play.tool(input) });
  const tools = { send_message: gatedTool("send_message", send_message, play.options) };
  await ai6.generateText({
    model,
    tools,
    prompt,
    stopWhen: ai6.stepCountIs(2),
    ...signalled(play),
  });
  return JSON.stringify(model.doGenerateCalls[1]?.prompt ?? "");
});

test("a streaming tool returns its last result after the approval", async (t) => {
  const daemon = await TestDaemon.open(t);
  const stream = ai7.tool({
    inputSchema,
    async *execute() {
      yield "begun";
      yield "half";
      yield "done";
    },
  });
  const { execute } = gatedTool("send_message", stream, { client: daemon.client() });
  const options = { toolCallId: "c", messages: [], context: {} };
  const coming = execute?.(risky(1), options);
  await daemon.answer({ choice: "approve", reason: "as planned" });
  assert.equal(await (coming as unknown), "done");
});

test("a tool without execute is rejected", () => {
  const away = ai7.tool({ inputSchema, outputSchema: z.string() });
  assert.throws(() => gatedTools({ away }), /away has no execute function/);
});
