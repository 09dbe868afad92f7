/** The middleware for LangChain 1, with its fake model. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AIMessage, createAgent, fakeModel, tool, ToolMessage } from "langchain";
import { z } from "zod";

import { countersign } from "../src/adapters/langchain.js";
import { House, risky } from "./house.js";
import { promises, type Play } from "./promises.js";

const schema = z.object({ to: z.string(), text: z.string() });

function agentFor(play: Play) {
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

promises("LangChain", async (play) => {
  const { agent, model } = agentFor(play);
  await agent.invoke({ messages }, play.signal === undefined ? {} : { signal: play.signal });
  return JSON.stringify(model.calls[1]?.messages ?? "");
});

test("a refused call is a tool message with status error; the thread is the session", async (t) => {
  const house = await House.open(t);
  const play = { options: { client: house.client() }, calls: [risky(1)], tool: () => "ran" };
  const { agent } = agentFor(play);
  const coming = agent.invoke({ messages }, { configurable: { thread_id: "thread-9" } });
  const asked = await house.answer({ choice: "deny", reason: "no" });
  const found = (await coming).messages.find((one) => one instanceof ToolMessage);
  assert.equal(found?.status, "error");
  assert.equal(found?.tool_call_id, "c0");
  assert.equal(asked.session, "thread-9");
});
