/** The plugins for OpenCode and OpenClaw, driven as their hosts drive them, with a fake program. */

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const PLUGINS = join(fileURLToPath(new URL(".", import.meta.url)), "../../plugins");
const ARGUMENTS = { command: "rm -rf build", timeout: 5 };

type Json = Record<string, unknown>;

/** The fake program as a shell script. */
const says = (text: string): string => `cat >> "$0.log"; echo >> "$0.log"; printf '%s' '${text}'`;
const allows = says('{"decision":"allow"}');

/** One call through a plugin: the arguments that ran, or why it did not run. */
interface Tried {
  ran?: unknown;
  why?: string;
}

interface Host {
  readonly name: string;
  readonly file: string;
  /** Asks; returns what the host would do. */
  tried(plugin: Json, args: unknown, signal?: AbortSignal): Promise<Tried>;
  /** Reports a call that ended. */
  ended(plugin: Json): Promise<void>;
}

type Hooks = Record<string, (...given: unknown[]) => Promise<unknown>>;
const hooksOf = new WeakMap<Json, Hooks>();

/** Started once, as the host does. */
async function opencode(plugin: Json): Promise<Hooks> {
  const known = hooksOf.get(plugin);
  if (known !== undefined) return known;
  const made = Object.values(plugin);
  assert.equal(made.length, 1, "OpenCode starts everything that is exported");
  const hooks = await (made[0] as (given: object) => Promise<Hooks>)({ directory: "/work" });
  hooksOf.set(plugin, hooks);
  return hooks;
}

function openclaw(plugin: Json): Hooks {
  const hooks: Hooks = {};
  const entry = plugin["default"] as { register(api: object): void };
  entry.register({
    on(name: string, handler: Hooks[string], options?: { timeoutMs: number; priority: number }) {
      hooks[name] = handler;
      if (name !== "before_tool_call") return;
      assert.ok((options?.timeoutMs ?? 0) > 86_400_000, "the host must not end it before we do");
      assert.ok((options?.priority ?? 0) < -1e9, "others must not rewrite what was approved");
    },
  });
  return hooks;
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

const call = { tool: "bash", sessionID: "s1", callID: "c1" };
const hosts: Host[] = [
  {
    name: "OpenCode",
    file: "opencode/countersign.js",
    async tried(plugin, args, signal) {
      const hooks = await opencode(plugin);
      const output = { args };
      const stopped = { type: "tool", ...call, state: { status: "error" } };
      signal?.addEventListener("abort", () => {
        const event = { type: "message.part.updated", properties: { part: stopped } };
        void hooks["event"]?.({ event });
      });
      try {
        await hooks["tool.execute.before"]?.(call, output);
        // OpenCode runs with the object that it passed, whatever `output` is afterwards.
        assert.equal(output.args, args);
        return { ran: args };
      } catch (error) {
        return { why: (error as Error).message };
      }
    },
    async ended(plugin) {
      const hooks = await opencode(plugin);
      await hooks["tool.execute.after"]?.(call, { title: "", output: "", metadata: { exit: 3 } });
    },
  },
  {
    name: "OpenClaw",
    file: "openclaw/index.js",
    async tried(plugin, args, signal) {
      const hooks = openclaw(plugin);
      const event = { toolName: "bash", params: args, toolCallId: "c1" };
      const context = { sessionKey: "s1", abortSignal: signal };
      const said = (await hooks["before_tool_call"]?.(event, context)) as Json;
      if (said["block"] === true) return { why: String(said["blockReason"]) };
      const params = { ...(args as object), ...(said["params"] as object) };
      return { ran: JSON.parse(JSON.stringify(params)) as unknown };
    },
    async ended(plugin) {
      const hooks = openclaw(plugin);
      const result = { details: { exitCode: 3 } };
      const event = { toolName: "bash", params: {}, toolCallId: "c1", result, durationMs: 12 };
      await hooks["after_tool_call"]?.(event, { sessionKey: "s1" });
    },
  },
];

/** A plugin as the installer writes it, with this program. */
async function installed(
  t: TestContext,
  host: Host,
  script: string,
): Promise<{ plugin: Json; log: string }> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "countersign");
  if (script !== "") {
    writeFileSync(program, `#!/bin/sh\necho "$@" > "$0.words"\n${script}\n`);
    chmodSync(program, 0o755);
  }
  const text = readFileSync(join(PLUGINS, host.file), "utf8");
  const file = join(folder, "plugin.mjs");
  writeFileSync(file, text.replaceAll("__COUNTERSIGN__", program));
  const plugin = { ...((await import(pathToFileURL(file).href)) as Json) };
  return { plugin, log: `${program}.log` };
}

for (const host of hosts) {
  const once = async (t: TestContext, script: string, args: unknown = { ...ARGUMENTS }) => {
    const { plugin, log } = await installed(t, host, script);
    return { log, plugin, ...(await host.tried(plugin, args)) };
  };

  test(`${host.name}: an allowed call runs unchanged; the program got the whole call`, async (t) => {
    const { ran, log, plugin } = await once(t, allows);
    assert.deepEqual(ran, ARGUMENTS);
    const asked = JSON.parse(readFileSync(log, "utf8")) as Json;
    const { cwd, ...rest } = asked;
    const wanted = {
      event: "before",
      tool: "bash",
      arguments: ARGUMENTS,
      session: "s1",
      call_id: "c1",
    };
    assert.deepEqual(rest, wanted);
    assert.equal(cwd, host.name === "OpenCode" ? "/work" : undefined);
    const words = readFileSync(log.replace(/\.log$/, ".words"), "utf8");
    assert.equal(words, `hook plugin --agent ${host.name.toLowerCase()} --patience 86340\n`);
    await host.ended(plugin);
    let told: Json = {};
    for (let tries = 0; tries < 200 && told["event"] !== "after"; tries += 1) {
      const last = readFileSync(log, "utf8").trim().split("\n").at(-1) ?? "{}";
      try {
        told = JSON.parse(last) as Json;
      } catch {
        // It is still being written.
      }
      await pause(25);
    }
    const { duration_ms: took, ...after } = told;
    assert.equal(typeof took, "number");
    assert.deepEqual(after, { ...asked, event: "after", status: "error", exit_code: 3 });
  });

  test(`${host.name}: an edited call runs with the edited arguments only`, async (t) => {
    const edit = { command: "ls build", depth: { of: [1] } };
    const { ran } = await once(t, says(JSON.stringify({ decision: "allow", arguments: edit })));
    assert.deepEqual(ran, edit);
  });

  test(`${host.name}: a denied call does not run, and the reason is passed on`, async (t) => {
    const { why } = await once(
      t,
      says('{"decision":"deny","reason":"denied by owner: not today"}'),
    );
    assert.equal(why, "denied by owner: not today");
    const { why: bare } = await once(t, says('{"decision":"deny"}'));
    assert.equal(bare, "Denied, without a reason.");
  });

  const yes = '{"decision":"allow"}';
  const broken: Record<string, string> = {
    "exit code 1 after a yes": `${allows}; echo sorry >&2; exit 1`,
    "exit code 2": "exit 2",
    "a crash": `${allows}; kill -9 $$`,
    "no words": "cat > /dev/null",
    "other words": says("allow"),
    "a JSON text": says('"allow"'),
    "a list": says(`[${yes}]`),
    true: says("true"),
    "two answers": says(`${yes}${yes}`),
    "an unknown decision": says('{"decision":"Allow"}'),
    "an older word": says('{"decision":"approve"}'),
    "another member": says('{"permissionDecision":"allow"}'),
    "arguments that are none": says('{"decision":"allow","arguments":[1]}'),
    "null for arguments": says('{"decision":"allow","arguments":null}'),
    "an endless answer": "cat > /dev/null; yes",
    "no program": "",
  };
  for (const [what, script] of Object.entries(broken)) {
    test(`${host.name}: ${what} does not run`, async (t) => {
      const { ran, why } = await once(t, script);
      assert.equal(ran, undefined);
      assert.match(why ?? "", /^Denied: Countersign could not ask about this call: ./);
    });
  }

  test(`${host.name}: an approval by a program that did not read the call is rejected`, async (t) => {
    const big = { command: "x".repeat(4 << 20) };
    const { why } = await once(t, `exec 0<&-; sleep 0.2; printf '%s' '${yes}'`, big);
    assert.match(why ?? "", /did not read the call/);
  });

  test(`${host.name}: arguments that are not an object do not run`, async (t) => {
    for (const args of [[], "rm", 7, null]) {
      const { why } = await once(t, allows, args);
      assert.match(why ?? "", /not an object/);
    }
  });

  test(`${host.name}: a plugin without an installed program blocks`, async () => {
    const file = pathToFileURL(join(PLUGINS, host.file)).href;
    const plugin = { ...((await import(file)) as Json) };
    assert.match((await host.tried(plugin, {})).why ?? "", /countersign install/);
  });

  test(`${host.name}: without an answer for a day it does not run`, async (t) => {
    const { plugin } = await installed(t, host, "exec sleep 60");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const coming = host.tried(plugin, { ...ARGUMENTS });
    for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
    t.mock.timers.tick(86_399_000);
    const still = Symbol("still");
    assert.equal(await Promise.race([coming, Promise.resolve(still)]), still);
    t.mock.timers.tick(1_001);
    assert.match((await coming).why ?? "", /no answer within a day/);
  });

  test(`${host.name}: a cancelled call does not run, and its program ends`, async (t) => {
    const { plugin, log } = await installed(t, host, 'echo $$ > "$0.log"; exec sleep 60');
    const stop = new AbortController();
    const coming = host.tried(plugin, { ...ARGUMENTS }, stop.signal);
    let id = "";
    while (id === "") {
      await pause(20);
      try {
        id = readFileSync(log, "utf8").trim();
      } catch {
        // It has not started yet.
      }
    }
    stop.abort();
    assert.match((await coming).why ?? "", /was cancelled/);
    const limit = performance.now() + 30_000;
    while (isRunning(Number(id)) && performance.now() < limit) await pause(20);
    assert.equal(isRunning(Number(id)), false);
  });
}
