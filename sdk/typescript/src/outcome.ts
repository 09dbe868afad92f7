/** What came of a call, for the ledger: figures and few words, never the result itself. */

import { sha256 } from "./call.js";
import { canonical, wellFormed } from "./json.js";

/** What came of a call, in a word. */
export type Report = "ok" | "error" | "skipped";

/** What came of a call. */
export interface Outcome {
  readonly status: Report;
  /** In words, without secrets; shown at most 2000 bytes long. */
  readonly summary?: string | undefined;
  /** What a program ended with. */
  readonly exitCode?: number | undefined;
  readonly durationMs?: number | undefined;
  /** SHA-256 of what it gave back, in hex. */
  readonly resultDigest?: string | undefined;
}

/** As it is told. */
export function figures(said: Outcome | Report, summary: string): Record<string, unknown> {
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

/** A run, from now on. */
export class Ran {
  readonly #start = performance.now();

  /** It gave this back. */
  returned(value: unknown, failed: boolean): Outcome {
    const status = failed ? "error" : "ok";
    return { status, durationMs: this.#took(), resultDigest: digest(value) };
  }

  /** It threw. The words of an error may hold anything; only its kind is told. */
  failed(error: unknown): Outcome {
    const summary = error instanceof Error ? error.name : "it failed";
    return { status: "error", summary, durationMs: this.#took() };
  }

  /** In milliseconds; the daemon believes a week. */
  #took(): number {
    return Math.min(Math.round(performance.now() - this.#start), 7 * 24 * 3_600_000);
  }
}

/** SHA-256 of a result in hex: of a text as it is, else of its canonical JSON, if it has one. */
function digest(value: unknown): string | undefined {
  try {
    if (typeof value === "string") return sha256(value);
    if (value === undefined) return undefined;
    return sha256(canonical(value));
  } catch {
    return undefined;
  }
}
