/**
 * Countersign for OpenCode: every tool call is asked about before it runs; a refusal is thrown,
 * so that OpenCode does not run the call and the model reads why.
 *
 * OpenCode takes everything that this file exports for a plugin, so it exports one thing.
 */

import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";

const AGENT = "opencode";

export const Countersign = async ({ directory }) => {
  /** Calls that wait for an answer; calls that run, as they were asked about, and since when. */
  const waiting = new Map();
  const running = new Map();
  return {
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const taken = new AbortController();
      waiting.set(callID, taken);
      try {
        const where = { session: sessionID, cwd: directory, call_id: callID };
        const call = { tool, arguments: structuredClone(output.args), ...where };
        replace(output, await ask(AGENT, call, taken.signal));
        running.set(callID, { call, start: performance.now() });
        // A call that never comes to an end is not remembered for ever.
        if (running.size > 1000) running.delete(running.keys().next().value);
      } finally {
        waiting.delete(callID);
      }
    },
    "tool.execute.after": async ({ callID }, output) => {
      const code = output?.metadata?.exit;
      const exit = typeof code === "number" ? { exit_code: code } : {};
      ended(callID, { status: code ? "error" : "ok", ...exit });
    },
    // A call that fails or is stopped is only seen here.
    event: async ({ event }) => {
      const part = event?.properties?.part;
      if (event?.type !== "message.part.updated" || part?.type !== "tool") return;
      if (part.state?.status !== "error") return;
      waiting.get(part.callID)?.abort();
      ended(part.callID, { status: "error" });
    },
  };

  function ended(callID, outcome) {
    const known = running.get(callID);
    if (known === undefined) return;
    running.delete(callID);
    const took = Math.round(performance.now() - known.start);
    tell(AGENT, { ...known.call, ...outcome, duration_ms: took });
  }
};

/** Puts the approved arguments in place, in the very object that OpenCode runs with. */
function replace(output, approved) {
  for (const key of Object.keys(output.args)) delete output.args[key];
  Object.assign(output.args, approved);
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
