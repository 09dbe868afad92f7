/**
 * Countersign for OpenClaw: every tool call is asked about before it runs; a refusal blocks it,
 * and its reason is what the model reads.
 */

import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";

const AGENT = "openclaw";
/** Calls that run, as they were asked about. */
const running = new Map();

export default {
  id: "countersign",
  name: "Countersign",
  description: "Asks a person before a risky tool call runs.",
  register(api) {
    // Last of all: what another plugin rewrites after us would not be what was approved. Its
    // time is longer than ours, so that a refusal is always in our words.
    const order = { priority: Number.MIN_SAFE_INTEGER, timeoutMs: PATIENCE + MINUTE };
    api.on("before_tool_call", before, order);
    api.on("after_tool_call", after);
  },
};

async function before(event, context) {
  try {
    const call = {
      tool: event.toolName,
      arguments: event.params,
      session: context?.sessionKey ?? context?.sessionId,
      call_id: event.toolCallId ?? context?.toolCallId,
    };
    const approved = await ask(AGENT, call, context?.abortSignal);
    if (call.call_id !== undefined) running.set(call.call_id, call);
    // A call that never comes to an end is not remembered for ever.
    if (running.size > 1000) running.delete(running.keys().next().value);
    // OpenClaw lays these over the old ones: what a person took out must be taken out by name.
    const gone = Object.keys(event.params).filter((key) => !Object.hasOwn(approved, key));
    return { params: { ...approved, ...Object.fromEntries(gone.map((key) => [key, undefined])) } };
  } catch (error) {
    return { block: true, blockReason: error instanceof Error ? error.message : "Denied." };
  }
}

async function after(event, context) {
  const id = event.toolCallId ?? context?.toolCallId;
  const call = running.get(id);
  // Without a name, or never allowed: there is nothing to say about it.
  if (call === undefined) return;
  running.delete(id);
  const code = event.result?.details?.exitCode;
  const exit = typeof code === "number" ? { exit_code: code } : {};
  const status = event.error || code ? "error" : "ok";
  tell(AGENT, { ...call, status, duration_ms: event.durationMs, ...exit });
}

// From here to the end mark both plugins hold the same text: each must stand alone where it is
// installed, and a test holds them alike.

/** The installer writes the path of the program here. */
const COUNTERSIGN = "__COUNTERSIGN__";
/** A person may take a day, in milliseconds; the program gives up a minute before, in words. */
const PATIENCE = 86_400_000;
const MINUTE = 60_000;
const LONGEST_ANSWER = 1 << 20;

/**
 * Asks about one call. Comes back only if the call may run, with the arguments to run: exactly
 * what was asked, or what a person made of it. Anything else is thrown.
 */
async function ask(agent, call, signal) {
  let text;
  try {
    if (!isObject(call.arguments)) throw new Error("its arguments are no object");
    text = JSON.stringify({ event: "before", ...call });
    return verdict(await answer(agent, text, signal)) ?? JSON.parse(text).arguments;
  } catch (error) {
    if (error instanceof Denied) throw new Error(error.message);
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Denied: Countersign could not ask about this call: ${why}`);
  }
}

/** Says what came of a call. Nobody waits for it, and nothing can go wrong by it. */
function tell(agent, outcome) {
  try {
    const child = start(agent, { stdio: ["pipe", "ignore", "ignore"], detached: true });
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ event: "after", ...outcome }));
    child.unref();
  } catch {
    // The call has run; a word about it is all that is lost.
  }
}

class Denied extends Error {}

/** What the program says: edited arguments, or nothing to change. */
function verdict(text) {
  let said;
  try {
    said = JSON.parse(text);
  } catch {
    throw new Error("its answer is no JSON");
  }
  const edited = isObject(said) ? said.arguments : undefined;
  if (isObject(said) && said.decision === "allow" && (edited === undefined || isObject(edited))) {
    return edited;
  }
  if (isObject(said) && said.decision === "deny") {
    const named = typeof said.reason === "string" && said.reason.trim() !== "";
    throw new Denied(named ? said.reason : "Denied, without a reason.");
  }
  throw new Error("its answer was not understood");
}

/** All that the program writes for one question, if it ends well and in time. */
function answer(agent, text, signal) {
  return new Promise((resolve, reject) => {
    const child = start(agent, { stdio: ["pipe", "pipe", "pipe"] });
    const heard = [];
    let length = 0;
    let complaint = "";
    const stop = (why) => {
      child.kill();
      // Whatever it left behind shall not keep on talking to us.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      end(() => reject(new Error(why)));
    };
    const late = setTimeout(() => stop("nobody answered within a day"), PATIENCE);
    const aborted = () => stop("the call was taken back");
    const end = (settle) => {
      clearTimeout(late);
      signal?.removeEventListener("abort", aborted);
      settle();
    };
    signal?.addEventListener("abort", aborted, { once: true });
    if (signal?.aborted) aborted();
    child.on("error", (error) => stop(error.message));
    child.stdin.on("error", (error) => stop(`it did not read the call: ${error.message}`));
    child.stdout.on("data", (piece) => {
      heard.push(piece);
      length += piece.length;
      if (length > LONGEST_ANSWER) stop("its answer is too long");
    });
    child.stderr.on("data", (piece) => {
      if (complaint.length < 500) complaint += piece;
    });
    child.on("close", (code, killed) => {
      if (code === 0) return end(() => resolve(Buffer.concat(heard).toString("utf8")));
      const how = code === null ? `was ended by ${killed}` : `ended with code ${code}`;
      const words = complaint.trim().split("\n")[0];
      stop(`${COUNTERSIGN} ${how}${words ? `: ${words}` : ""}`);
    });
    child.stdin.end(text);
  });
}

function start(agent, options) {
  if (!isAbsolute(COUNTERSIGN)) {
    throw new Error("the plugin was not put there by `countersign install`");
  }
  const seconds = String((PATIENCE - MINUTE) / 1000);
  const words = ["hook", "plugin", "--agent", agent, "--patience", seconds];
  return spawn(COUNTERSIGN, words, { ...options, windowsHide: true });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
// End mark.
