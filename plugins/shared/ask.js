/**
 * The part that all JavaScript plugins share. The build appends this file to each plugin, because a
 * plugin must be one file where it is installed.
 */

import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";

/** The installer replaces this with the path of the program. */
const COUNTERSIGN = "__COUNTERSIGN__";
/** The installer replaces this with the path of the daemon's public key. */
const DAEMON_KEY = "__DAEMON_KEY__";
/** A person may take a day, in milliseconds. The program answers one minute earlier. */
const PATIENCE = 86_400_000;
const MINUTE = 60_000;
const MAX_ANSWER = 1 << 20;

/**
 * Asks about one call. Returns only if the call may run, with the arguments to run: exactly those
 * that were asked about, or those that a person wrote. Throws in every other case.
 */
async function ask(agent, call, signal) {
  let text;
  try {
    if (!isObject(call.arguments)) throw new Error("its arguments are not an object");
    text = JSON.stringify({ event: "before", ...call });
    return decision(await run(agent, text, signal)) ?? JSON.parse(text).arguments;
  } catch (error) {
    if (error instanceof Denied) throw new Error(error.message);
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Denied: Countersign could not ask about this call: ${why}`);
  }
}

/** Reports the outcome of a call in the background. An error here changes nothing. */
function report(agent, outcome) {
  try {
    const child = start(agent, { stdio: ["pipe", "ignore", "ignore"], detached: true });
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ event: "after", ...outcome }));
    child.unref();
  } catch {
    // The call has already run; only the report is lost.
  }
}

class Denied extends Error {}

/** The program's answer: edited arguments, or undefined if they stay as they are. */
function decision(text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error("its answer is not JSON");
  }
  if (!isObject(answer)) throw new Error("its answer is not an object");
  const { arguments: edited, reason } = answer;
  if (answer.decision === "allow" && (edited === undefined || isObject(edited))) return edited;
  if (answer.decision === "deny") {
    const hasReason = typeof reason === "string" && reason.trim() !== "";
    throw new Denied(hasReason ? reason : "Denied, without a reason.");
  }
  throw new Error("its answer is neither an approval nor a denial");
}

/** The program's output for one question, if it exits with 0 and in time. */
function run(agent, text, signal) {
  return new Promise((resolve, reject) => {
    const child = start(agent, { stdio: ["pipe", "pipe", "pipe"] });
    const chunks = [];
    let length = 0;
    let errors = "";
    const stop = (why) => {
      child.kill();
      // Child processes that it left running must not keep the streams open.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      end(() => reject(new Error(why)));
    };
    const late = setTimeout(() => stop("there was no answer within a day"), PATIENCE);
    const aborted = () => stop("the call was cancelled");
    const end = (settle) => {
      clearTimeout(late);
      signal?.removeEventListener("abort", aborted);
      settle();
    };
    signal?.addEventListener("abort", aborted, { once: true });
    if (signal?.aborted) aborted();
    child.on("error", (error) => stop(error.message));
    child.stdin.on("error", (error) => stop(`it did not read the call: ${error.message}`));
    child.stdout.on("data", (chunk) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_ANSWER) stop("its answer is longer than 1 MiB");
    });
    child.stderr.on("data", (chunk) => {
      if (errors.length < 500) errors += chunk;
    });
    child.on("close", (code, killed) => {
      if (code === 0) return end(() => resolve(Buffer.concat(chunks).toString("utf8")));
      const how = code === null ? `was killed by ${killed}` : `exited with ${code}`;
      const message = errors.trim().split("\n")[0];
      stop(`${COUNTERSIGN} ${how}${message ? `: ${message}` : ""}`);
    });
    child.stdin.end(text);
  });
}

function start(agent, options) {
  if (!isAbsolute(COUNTERSIGN)) {
    throw new Error("the plugin was not installed with `countersign install`");
  }
  const seconds = String((PATIENCE - MINUTE) / 1000);
  const words = ["hook", "plugin", "--agent", agent, "--patience", seconds];
  if (isAbsolute(DAEMON_KEY)) words.push("--daemon-key", DAEMON_KEY);
  return spawn(COUNTERSIGN, words, { ...options, windowsHide: true });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
