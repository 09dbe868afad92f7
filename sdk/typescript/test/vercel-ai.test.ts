/** The adapter for the Vercel AI SDK, against both of its major versions. */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as ai7 from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as ai6 from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { z } from "zod";

import { gatedTool, gatedTools } from "../src/adapters/vercel-ai.js";
import { House, risky } from "./house.js";
import { promises, type Play } from "./promises.js";

const inputSchema = z.object({ to: z.string(), text: z.string() });
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The model's two turns: it makes the calls, then it says something. */
function turns(play: Play) {
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
const signalled = (play: Play) => (play.signal === undefined ? {} : { abortSignal: play.signal });

promises("Vercel AI SDK 7", async (play) => {
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

promises("Vercel AI SDK 6", async (play) => {
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

test("a tool that streams its results gives the last one, after the yes", async (t) => {
  const house = await House.open(t);
  const stream = ai7.tool({
    inputSchema,
    async *execute() {
      yield "begun";
      yield "half";
      yield "done";
    },
  });
  const { execute } = gatedTool("send_message", stream, { client: house.client() });
  const options = { toolCallId: "c", messages: [], context: {} };
  const coming = execute?.(risky(1), options);
  await house.answer({ choice: "approve", reason: "as planned" });
  assert.equal(await (coming as unknown), "done");
});

test("a tool that does not run here cannot be held here", () => {
  const away = ai7.tool({ inputSchema, outputSchema: z.string() });
  assert.throws(() => gatedTools({ away }), /away has no execute function here/);
});
