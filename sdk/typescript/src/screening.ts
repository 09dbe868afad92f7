/**
 * A person's message is screened even if the daemon does not answer: the `countersign` program
 * screens it then, and without the program a fixed card is returned.
 */

import { spawn } from "node:child_process";

import type { Variables } from "./endpoint.js";
import { isPlainObject } from "./json.js";
import { STATIC_CARD } from "./static-card.js";

/** How long a card waits for the daemon, in milliseconds. */
const CARD_WAIT = 300;
/** Timeout of the program, in milliseconds; a screening takes a few. */
const PROGRAM_TIMEOUT = 30_000;
/** The longest output of the program, in bytes. */
const LONGEST = 1 << 20;

/** A screening, as the daemon answers it. */
export type Screening = Record<string, unknown>;

/** The daemon's answer, or an own one if the daemon fails, or is late and the text shows signs. */
export async function screenMessage(
  daemon: Promise<Screening>,
  text: string,
  variables: Variables,
): Promise<Screening> {
  const answer = daemon.then(
    (screening) => ({ screening }),
    (error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CARD_WAIT);
  });
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  if (first === undefined) {
    const own = await offlineScreening(text, variables, "the daemon has not answered yet");
    if (own["concern"] === "possible" || own["concern"] === "likely") return own;
  }
  const last = first ?? (await answer);
  return "screening" in last ? last.screening : offlineScreening(text, variables, last.failed);
}

/** What the program says about a text, in the form of the daemon's answer. */
async function offlineScreening(
  text: string,
  variables: Variables,
  why: string,
): Promise<Screening> {
  const fixed = { text: STATIC_CARD, lang: "en", country: null, check_in: true };
  const unknown = { crisis: false, concern: "unknown", card: fixed };
  const found = (await byProgram(text, variables)) ?? unknown;
  const helps = isPlainObject(found["card"]);
  return {
    ...found,
    context: "none",
    role: "user",
    guard: { state: "unavailable", categories: [], reason: "daemon" },
    session_concern: found["concern"],
    decision: helps ? "help" : "pass",
    replacement: null,
    request: null,
    takeover: null,
    notice: null,
    offline: why,
  };
}

/** The record of `countersign screen --batch`; none if the program cannot be run. */
function byProgram(text: string, variables: Variables): Promise<Screening | undefined> {
  const named = variables["COUNTERSIGN_BINARY"];
  const program = named === undefined || named === "" ? "countersign" : named;
  return new Promise((resolve) => {
    const child = spawn(program, ["screen", "--batch"], {
      env: { ...variables },
      stdio: ["pipe", "pipe", "ignore"],
      timeout: PROGRAM_TIMEOUT,
      killSignal: "SIGKILL",
    });
    let said = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (part: string) => {
      said += part;
      if (said.length > LONGEST) child.kill("SIGKILL");
    });
    child.on("error", () => resolve(undefined));
    child.stdin.on("error", () => {});
    child.on("close", (code) => resolve(code === 0 ? parse(said) : undefined));
    child.stdin.end(`${JSON.stringify({ text })}\n`);
  });
}

function parse(said: string): Screening | undefined {
  try {
    const found: unknown = JSON.parse(said);
    return isPlainObject(found) && typeof found["concern"] === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}
