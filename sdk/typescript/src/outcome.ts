/** The outcome of a call for the ledger, never the result itself. */

import { sha256 } from "./call.js";
import { canonical, wellFormed } from "./json.js";

/** The status of an outcome. */
export type Report = "ok" | "error" | "skipped";

/** The outcome of a call. */
export interface Outcome {
  readonly status: Report;
  /** A summary without secrets, at most 2000 bytes. */
  readonly summary?: string | undefined;
  /** The exit code of a program. */
  readonly exitCode?: number | undefined;
  readonly durationMs?: number | undefined;
  /** SHA-256 of the result, in hex. */
  readonly resultDigest?: string | undefined;
}

/** The outcome as a JSON document. */
export function outcomeDocument(said: Outcome | Report, summary: string): Record<string, unknown> {
  const outcome: Outcome = typeof said === "string" ? { status: said, summary } : said;
  const words = wellFormed(outcome.summary ?? "").slice(0, 2000);
  return {
    status: outcome.status,
    summary: words === "" ? undefined : words,
    exit_code: outcome.exitCode,
    duration_ms: outcome.durationMs,
    result_digest: outcome.resultDigest,
  };
}

/** Measures a run from its creation. */
export class RunTimer {
  readonly #start = performance.now();

  /** The outcome of a run that returned a value. */
  returned(value: unknown, failed: boolean): Outcome {
    const status = failed ? "error" : "ok";
    return { status, durationMs: this.#took(), resultDigest: digest(value) };
  }

  /** The outcome of a run that threw. An error message may contain secrets; only its name is sent. */
  failed(error: unknown): Outcome {
    const summary = error instanceof Error ? error.name : "error";
    return { status: "error", summary, durationMs: this.#took() };
  }

  /** In milliseconds; the daemon accepts at most a week. */
  #took(): number {
    return Math.min(Math.round(performance.now() - this.#start), 7 * 24 * 3_600_000);
  }
}

/** SHA-256 in hex of a result: of a string as it is, else of its canonical JSON. */
function digest(value: unknown): string | undefined {
  try {
    if (typeof value === "string") return sha256(value);
    if (value === undefined) return undefined;
    return sha256(canonical(value));
  } catch {
    return undefined;
  }
}
