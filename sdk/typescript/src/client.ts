/** The agents' side of a daemon: ask, wait, take back, use the permit, say what came of it. */

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { asked as read, redemption, type Asked, type Call } from "./call.js";
import { reach, type Door, type Reach } from "./door.js";
import { Fault, NotApproved } from "./errors.js";
import { exchange } from "./http.js";
import { isPlainObject } from "./json.js";
import {
  approval,
  requestDocument,
  understood,
  type Approval,
  type RequestDocument,
} from "./request.js";

/** How long an ordinary exchange may take, in milliseconds. */
const USUAL = 30_000;
/** How long one long poll waits at the daemon, in seconds: a lost connection is soon noticed. */
const POLL = 25;
/** How long a daemon that was never reached is waited for, in milliseconds. */
const KNOCK = 2_000;
/** How long after the deadline an answer is still waited for: the daemon ends it, not we. */
const GRACE = 10_000;
/** The deadline where nothing is said, in seconds. */
export const USUAL_TIMEOUT = 300;
/** How long a permit is tried to be used, in seconds. */
const REDEEM = 10;
/** How long taking back and reporting may keep anybody waiting, in milliseconds. */
const COURTESY = 3_000;

/** What may be said about one question. */
export interface Asking {
  /** Takes the request back when it is set off. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when a person has to be asked. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
}

/** What came of a call. */
export type Report = "ok" | "error" | "skipped";

/** What running a call came to: it ran and this came back, or it did not run. */
export type Attempt<T> =
  | { readonly ran: true; readonly value: T; readonly approval: Approval }
  | { readonly ran: false; readonly refusal: NotApproved };

/** An agent at its door. */
export class Countersign {
  readonly #given: Reach;

  /** Without options the daemon is found as `countersign ask` finds it. */
  constructor(given: Reach = {}) {
    this.#given = given;
  }

  /**
   * Asks, and waits until somebody answered or the time is over. It comes back only if the call
   * may run; everything else is thrown as `NotApproved`: a no, no answer, no daemon, an answer
   * that is not understood. Broken connections and restarts of the daemon are survived.
   *
   * The call must then run with `approval.arguments`. `gated` and `run` do that, and use the
   * permit.
   */
  async requestConfirmation(call: Call, asking: Asking = {}): Promise<Approval> {
    try {
      const asked = read(call);
      return approval(asked, await this.#answered(asked, call, asking));
    } catch (error) {
      throw NotApproved.from(call.tool, error);
    }
  }

  /**
   * Asks, uses the permit, runs once with exactly the approved arguments, and reports. What
   * `run` throws is thrown; that it did not run is thrown as `NotApproved`.
   */
  async run<T>(
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking = {},
  ): Promise<Awaited<T>> {
    const attempt = await this.attempt(call, run, asking);
    if (!attempt.ran) throw attempt.refusal;
    return attempt.value;
  }

  /** The same, with a refusal given back instead of thrown; what `run` throws is thrown. */
  async attempt<T>(
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean } = {},
  ): Promise<Attempt<Awaited<T>>> {
    return this.#attempt(call, (asked) => this.#answered(asked, call, asking), run, asking);
  }

  /** Waits for a request that was submitted; if it is approved, uses its permit and runs. */
  async attemptSubmitted<T>(
    call: Call,
    request: RequestDocument,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking = {},
  ): Promise<Attempt<Awaited<T>>> {
    return this.#attempt(call, (asked) => this.#ended(asked, request, call, asking), run, asking);
  }

  /** Takes a request back. */
  async cancel(id: string): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/cancel`;
    return named(id, await this.send("POST", path, { body: "{}", patience: COURTESY }));
  }

  /** Says what came of a call. */
  async report(id: string, status: Report, summary = ""): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/outcome`;
    const body = JSON.stringify({ status, summary: wellFormed(summary) });
    return named(id, await this.send("POST", path, { body, patience: COURTESY }));
  }

  /** Uses the permit of an approval. Comes back only if the permit was taken, now and for this. */
  async redeem(call: Call, approved: Approval): Promise<void> {
    await this.#redeem(read(call), approved, undefined);
  }

  /** What the gate would make of a call, without asking anybody. */
  async assess(call: Call): Promise<Record<string, unknown>> {
    const { tool, cwd, environment, session, platform, riskLevel } = call;
    const bare: Call = { tool, cwd, environment, session, platform, riskLevel };
    const { body } = read({ ...bare, arguments: call.arguments });
    const found = await this.send("POST", "/v1/assess", { body });
    if (!isPlainObject(found)) throw unexpected("it is no assessment");
    return found;
  }

  /** Looks for signs of a person in crisis in a text. */
  async screen(text: string, session?: string): Promise<Record<string, unknown>> {
    const body = JSON.stringify({ text: wellFormed(text), session });
    const found = await this.send("POST", "/v1/screen", { body });
    if (!isPlainObject(found)) throw unexpected("it is no screening");
    return found;
  }

  /** The keys that sign permits, to be kept by whoever verifies permits without the daemon. */
  async keys(): Promise<unknown> {
    return this.send("GET", "/.well-known/jwks.json");
  }

  /** One exchange with the daemon. */
  async send(
    method: "GET" | "POST",
    path: string,
    more: { body?: string; key?: string; patience?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    const { door, token } = this.#reach();
    return exchange(door, token, { method, path, patience: USUAL, ...more });
  }

  /** The same, tried again while the daemon is away: only for questions with a key. */
  async sendPatiently(
    method: "GET" | "POST",
    path: string,
    more: { body: string; key: string; signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    const { signal, ...said } = more;
    return new Patience().keepTrying(() => this.send(method, path, said), signal);
  }

  /** Read anew each time: a token may be renewed while we run. */
  #reach(): { door: Door; token: string | undefined } {
    return reach(this.#given);
  }

  async #submit(asked: Asked, key: string, patience = USUAL): Promise<RequestDocument> {
    const more = { body: asked.body, key, patience };
    return understood(await this.send("POST", "/v1/requests?wait=0", more), asked);
  }

  async #answered(asked: Asked, call: Call, asking: Asking): Promise<RequestDocument> {
    if (isAborted(asking.signal)) throw aborted();
    const key = call.key ?? freshKey();
    const patience = new Patience(call.timeoutSeconds);
    const ask = (): Promise<RequestDocument> =>
      this.#submit(asked, key, Math.min(USUAL, patience.left()));
    const first = patience.keepTrying(ask, asking.signal);
    const request = await unlessAborted(first, asking.signal, (late) => {
      // It arrived all the same, so it is taken back as soon as its name is known.
      if (late.state === "pending" && late.id !== null) void this.cancel(late.id).catch(() => {});
    });
    return this.#ended(asked, request, call, asking, patience);
  }

  async #ended(
    asked: Asked,
    first: RequestDocument,
    call: Call,
    asking: Asking,
    patience = new Patience(call.timeoutSeconds),
  ): Promise<RequestDocument> {
    const { id } = first;
    if (first.state !== "pending" || id === null) return first;
    const { signal } = asking;
    try {
      if (isAborted(signal)) throw aborted();
      asking.onWaiting?.(first);
      let found = first;
      while (found.state === "pending") {
        const poll = async (): Promise<unknown> => {
          const left = patience.left();
          if (left <= 0) throw new Fault("refused", "no answer came before the deadline");
          const seconds = Math.min(Math.max(Math.floor(left / 1000), 1), POLL);
          const path = `/v1/requests/${segment(id)}/wait?seconds=${seconds}`;
          return this.send("GET", path, { patience: Math.min(left, USUAL), signal });
        };
        found = understood(await patience.keepTrying(poll, signal), asked);
        if (found.id !== id || found.digest !== first.digest) {
          throw unexpected("it is for another request");
        }
      }
      return found;
    } catch (error) {
      // Nobody waits for the answer any more, so nobody shall be asked for it.
      await this.cancel(id).catch(() => undefined);
      throw error;
    }
  }

  async #redeem(asked: Asked, approved: Approval, signal: AbortSignal | undefined): Promise<void> {
    const { id } = approved.request;
    if (id === null || approved.permit === null) {
      throw new Fault("refused", "the approval came without a permit that can still be used");
    }
    if (isAborted(signal)) throw aborted();
    const body = redemption(asked, approved.argumentsText, approved.permit);
    const patience = new Patience(REDEEM, 0, true);
    const use = (): Promise<unknown> =>
      this.send("POST", "/v1/permits/redeem", { body, patience: patience.left() });
    const used = await patience.keepTrying(use, signal);
    if (!isPlainObject(used) || used["redeemed"] !== true || used["request"] !== id) {
      throw unexpected("the permit was not used");
    }
    // Only now is it certain that nobody else runs it.
    if (isAborted(signal)) {
      await this.report(id, "skipped", "taken back by the caller").catch(() => undefined);
      throw aborted();
    }
  }

  /** The one way from an answer to a call that runs: approved, permit used, run once. */
  async #attempt<T>(
    call: Call,
    answered: (asked: Asked) => Promise<RequestDocument>,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    let approved: Approval;
    try {
      const asked = read(call);
      approved = approval(asked, await answered(asked));
      await this.#redeem(asked, approved, asking.signal);
    } catch (error) {
      return { ran: false, refusal: NotApproved.from(call.tool, error) };
    }
    return this.#runOnce(approved, run, asking);
  }

  async #runOnce<T>(
    approved: Approval,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const { id } = approved.request;
    const start = performance.now();
    const tell = async (status: Report, what: string): Promise<void> => {
      const took = Math.round(performance.now() - start);
      // The call has run whatever becomes of this word about it.
      if (id !== null) await this.report(id, status, `${what} ${took} ms`).catch(() => undefined);
    };
    let value: Awaited<T>;
    try {
      value = await run(approved.arguments, approved);
    } catch (error) {
      const what = error instanceof Error ? `${error.name}: ${error.message}` : "it failed";
      await tell("error", `${what.slice(0, 1500)}, after`);
      throw error;
    }
    const bad = asking.failed?.(value) === true;
    await tell(bad ? "error" : "ok", bad ? "it failed after" : "it ran for");
    return { ran: true, value, approval: approved };
  }
}

/** How long a failing exchange is tried again. */
class Patience {
  readonly #start = performance.now();
  readonly #end: number;
  /** Whether the daemon was ever heard. */
  #arrived: boolean;
  #pause = 100;

  constructor(seconds = USUAL_TIMEOUT, grace = GRACE, arrived = false) {
    this.#end = this.#start + seconds * 1000 + grace;
    this.#arrived = arrived;
  }

  /** In milliseconds. */
  left(): number {
    return this.#end - performance.now();
  }

  async keepTrying<T>(once: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (;;) {
      try {
        const found = await once();
        this.#arrived = true;
        this.#pause = 100;
        return found;
      } catch (error) {
        if (!(error instanceof Fault) || !error.passesByItself) throw error;
        this.#arrived ||= error.sent;
        // Where nobody was ever heard, nobody may be there at all: that is said soon.
        const end = this.#arrived ? this.#end : Math.min(this.#start + KNOCK, this.#end);
        if (performance.now() + this.#pause >= end) throw error;
      }
      try {
        await pause(this.#pause, undefined, signal === undefined ? {} : { signal });
      } catch {
        throw aborted();
      }
      this.#pause = Math.min(this.#pause * 2, 2000);
    }
  }
}

/** What comes, unless the signal is set off before; then `late` is told what still came. */
async function unlessAborted<T>(
  coming: Promise<T>,
  signal: AbortSignal | undefined,
  late: (value: T) => void,
): Promise<T> {
  if (signal === undefined) return coming;
  let stop: () => void = () => undefined;
  const over = new Promise<never>((_, reject) => {
    stop = (): void => reject(aborted());
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([coming, over]);
  } catch (error) {
    if (signal.aborted) coming.then(late, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A key under which a question is asked once, however often it is sent. */
export function freshKey(): string {
  return randomBytes(16).toString("base64url");
}

/** A part of a path: ids only, so that nothing leads elsewhere. */
export function segment(text: string): string {
  if (/^[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}$/.test(text)) return text;
  throw new Fault("input", `\`${text}\` is no name of anything`);
}

function named(id: string, value: unknown): RequestDocument {
  const document = requestDocument(value);
  if (document.id !== id) throw unexpected("it is for another request");
  return document;
}

/** Half characters would make the whole report unreadable. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function aborted(): Fault {
  return new Fault("aborted", "taken back by the caller");
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `the answer was not understood: ${what}`, { sent: true });
}
