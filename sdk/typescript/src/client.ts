/** The agents' side of a daemon: ask, wait, take back, use the permit, say what came of it. */

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { asked as read, cameOf, passedAgo, redemption, type Asked, type Call } from "./call.js";
import { reach, type Door, type Reach } from "./door.js";
import { Fault, NotApproved } from "./errors.js";
import { exchange } from "./http.js";
import { isPlainObject, wellFormed } from "./json.js";
import { figures, Ran, type Outcome, type Report } from "./outcome.js";
import {
  approval,
  requestDocument,
  understood,
  type Approval,
  type RequestDocument,
  type State,
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
/** So often an approval may turn out to have been used by somebody else. */
const USED_BY_OTHERS = 3;
/** How long taking back and reporting may keep anybody waiting, in milliseconds. */
const COURTESY = 3_000;

/** What may be said about one question. */
export interface Asking {
  /** Takes the request back when it is set off. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when a person has to be asked. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /**
   * How long to wait here, in seconds. After that `NotApproved` with the state `waiting` is thrown;
   * the question stays open, and whoever asks about the very same call again joins it.
   */
  readonly patienceSeconds?: number | undefined;
}

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
      // Nobody here uses the permit, so an approval must not be shared: one yes is not two.
      const key = call.key ?? freshKey();
      const patience = this.#patience(call, asking);
      return approval(asked, await this.#answered(asked, key, asking, patience));
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
    return this.#attempt(call, undefined, run, asking);
  }

  /** Waits for a request that was submitted; if it is approved, uses its permit and runs. */
  async attemptSubmitted<T>(
    call: Call,
    request: RequestDocument,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean } = {},
  ): Promise<Attempt<Awaited<T>>> {
    return this.#attempt(call, request, run, asking);
  }

  /**
   * Asks without waiting. With `join` it shares a request for the very same call: one that waits,
   * or one that was approved meanwhile and that nobody used.
   */
  async submit(call: Call, more: { readonly join?: boolean } = {}): Promise<RequestDocument> {
    const key = call.key ?? (more.join === true ? undefined : freshKey());
    return this.#submit(read(call), key, USUAL);
  }

  /** One request. */
  async get(id: string): Promise<RequestDocument> {
    return named(id, await this.send("GET", `/v1/requests/${segment(id)}`));
  }

  /** One request, once it has ended or so many seconds are over. */
  async wait(id: string, seconds = POLL): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/wait?seconds=${Math.max(Math.floor(seconds), 0)}`;
    return named(id, await this.send("GET", path, { patience: seconds * 1000 + USUAL }));
  }

  /** Own requests, newest first. */
  async requests(state?: State): Promise<RequestDocument[]> {
    const query = state === undefined ? "" : `?state=${segment(state)}`;
    const page = await this.send("GET", `/v1/requests${query}`);
    const list = isPlainObject(page) ? page["requests"] : undefined;
    if (!Array.isArray(list)) throw unexpected("there is no list");
    return list.map(requestDocument);
  }

  /** Takes a request back. */
  async cancel(id: string): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/cancel`;
    return named(id, await this.send("POST", path, { body: "{}", patience: COURTESY }));
  }

  /** Says what came of a call, in a word or more exactly. */
  async report(id: string, outcome: Outcome | Report, summary = ""): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/outcome`;
    const body = JSON.stringify(figures(outcome, summary));
    return named(id, await this.send("POST", path, { body, patience: COURTESY }));
  }

  /** The same for a call whose request need not be known: its request, if there was one. */
  async cameOf(call: Call, outcome: Outcome | Report, summary = ""): Promise<string | null> {
    const body = cameOf(read(call), figures(outcome, summary));
    const found = await this.send("POST", "/v1/outcomes", { body });
    const id = isPlainObject(found) ? found["request"] : undefined;
    if (id !== null && typeof id !== "string") throw unexpected("it names no request");
    return id;
  }

  /**
   * Reports calls that passed here by the same judgement, each with how long ago, in seconds. How
   * many of them the daemon would have asked about.
   */
  async passed(gateway: string, calls: ReadonlyArray<readonly [Call, number]>): Promise<number> {
    const list = calls.map(([call, seconds]) => passedAgo(read(call), seconds));
    const body = `{"gateway":${JSON.stringify(gateway)},"passes":[${list.join(",")}]}`;
    const found = await this.send("POST", "/v1/passes", { body });
    const asks = isPlainObject(found) ? found["would_ask"] : undefined;
    if (typeof asks !== "number") throw unexpected("it does not say what it would have asked");
    return asks;
  }

  /** How many requests wait, from the daemon's own word that it lives. */
  async health(): Promise<number> {
    const found = await this.send("GET", "/health", { patience: COURTESY });
    if (isPlainObject(found) && found["service"] === "countersign") {
      if (typeof found["pending"] === "number") return found["pending"];
    }
    throw unexpected("another service answers there");
  }

  /** Comes back only if something can be approved. */
  async ready(): Promise<void> {
    await this.send("GET", "/ready", { patience: 10_000 });
  }

  /** Uses the permit of an approval. Comes back only if the permit was taken, now and for this. */
  async redeem(call: Call, approved: Approval): Promise<void> {
    await this.#redeem(read(call), approved, undefined);
  }

  /** What the gate would make of a call, without asking anybody. */
  async assess(call: Call): Promise<Record<string, unknown>> {
    const found = await this.send("POST", "/v1/assess", { body: read(call).judged });
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

  #patience(call: Call, asking: Asking): Patience {
    return new Patience(call.timeoutSeconds, asking.patienceSeconds);
  }

  /** With a key it asks anew, without one it joins. */
  async #submit(
    asked: Asked,
    key: string | undefined,
    patience: number,
  ): Promise<RequestDocument> {
    const body = key === undefined ? asked.joining : asked.body;
    const more = { body, patience, ...(key === undefined ? {} : { key }) };
    return understood(await this.send("POST", "/v1/requests?wait=0", more), asked);
  }

  async #put(
    asked: Asked,
    key: string | undefined,
    asking: Asking,
    patience: Patience,
  ): Promise<RequestDocument> {
    if (isAborted(asking.signal)) throw aborted();
    const ask = (): Promise<RequestDocument> => this.#submit(asked, key, patience.exchange());
    const first = patience.keepTrying(ask, asking.signal);
    return unlessAborted(first, asking.signal, (late) => {
      // It arrived all the same, so it is taken back as soon as its name is known.
      if (late.state === "pending" && late.id !== null) void this.cancel(late.id).catch(() => {});
    });
  }

  async #answered(
    asked: Asked,
    key: string | undefined,
    asking: Asking,
    patience: Patience,
  ): Promise<RequestDocument> {
    const request = await this.#put(asked, key, asking, patience);
    return this.#ended(asked, request, asking, patience);
  }

  async #ended(
    asked: Asked,
    first: RequestDocument,
    asking: Asking,
    patience: Patience,
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
          if (left <= 0) throw NotApproved.waiting(asked.tool, first);
          if (left < 1000) await pause(left);
          const seconds = Math.min(Math.floor(left / 1000), POLL);
          const path = `/v1/requests/${segment(id)}/wait?seconds=${seconds}`;
          return this.send("GET", path, { patience: patience.exchange(), signal });
        };
        found = understood(await patience.keepTrying(poll, signal), asked);
        if (found.id !== id || found.digest !== first.digest) {
          throw unexpected("it is for another request");
        }
      }
      return found;
    } catch (error) {
      // Our time is over, not the person's: the same call joins the question that stays open.
      if (error instanceof NotApproved) throw error;
      if (error instanceof Fault && error.passesByItself) {
        throw NotApproved.waiting(asked.tool, first);
      }
      // Nobody waits for the answer any more, so nobody shall be asked for it.
      await this.cancel(id).catch(() => undefined);
      throw error;
    }
  }

  async #redeem(asked: Asked, approved: Approval, signal: AbortSignal | undefined): Promise<void> {
    const { id, observed } = approved.request;
    // A gate that only observes signs no permits and blocks nothing.
    if (id === null && observed === true && !approved.edited) return;
    if (id === null || approved.permit === null) {
      throw new Fault("refused", "the approval came without a permit that can still be used");
    }
    if (isAborted(signal)) throw aborted();
    const body = redemption(asked, approved.argumentsText, approved.permit);
    const patience = new Patience(REDEEM, REDEEM, true);
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
    submitted: RequestDocument | undefined,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    let approved: Approval;
    try {
      approved = await this.#cleared(call, submitted, asking);
    } catch (error) {
      return { ran: false, refusal: NotApproved.from(call.tool, error) };
    }
    return this.#runOnce(approved, run, asking);
  }

  /** Asks, waits, and uses the permit; one that somebody else has used is asked for anew. */
  async #cleared(
    call: Call,
    submitted: RequestDocument | undefined,
    asking: Asking,
  ): Promise<Approval> {
    const patience = this.#patience(call, asking);
    const named = read(call);
    const nameless = read({ ...call, callId: undefined });
    let first = submitted ?? (await this.#put(named, call.key, asking, patience));
    const isOwn = submitted === undefined && call.key === undefined && call.callId !== undefined;
    if (isOwn && (first.state === "expired" || first.state === "cancelled")) {
      // Nobody said no to this name of a call: some hosts give a name more than once.
      first = await this.#put(nameless, undefined, asking, patience);
    }
    for (let used = 0; used < USED_BY_OTHERS; used += 1) {
      const found = approval(named, await this.#ended(named, first, asking, patience));
      const isGone = found.permit === null && found.request.id !== null;
      if (!isGone || call.key !== undefined) {
        try {
          await this.#redeem(named, found, asking.signal);
          return found;
        } catch (error) {
          const why = error instanceof Fault ? error.problem?.why : undefined;
          if (why !== "used" || call.key !== undefined) throw error;
        }
      }
      // The same call twice at once: the other one got it. Asked anew, not under this name.
      first = await this.#put(nameless, undefined, asking, patience);
    }
    throw new Fault("refused", "this call was approved, but only once: propose it again");
  }

  async #runOnce<T>(
    approved: Approval,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const { id } = approved.request;
    const ran = new Ran();
    const tell = async (outcome: Outcome): Promise<void> => {
      // The call has run whatever becomes of this word about it.
      if (id !== null) await this.report(id, outcome).catch(() => undefined);
    };
    let value: Awaited<T>;
    try {
      value = await run(approved.arguments, approved);
    } catch (error) {
      await tell(ran.failed(error));
      throw error;
    }
    await tell(ran.returned(value, asking.failed?.(value) === true));
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

  /** The daemon ends a request, not we; unless our host has less time: `patience`. */
  constructor(seconds = USUAL_TIMEOUT, patience = Infinity, arrived = false) {
    this.#end = this.#start + Math.min(seconds * 1000 + GRACE, patience * 1000);
    this.#arrived = arrived;
  }

  /** In milliseconds. */
  left(): number {
    return this.#end - performance.now();
  }

  /** How long one exchange may take, in milliseconds. */
  exchange(): number {
    return Math.min(USUAL, Math.max(this.left(), 1000));
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

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function aborted(): Fault {
  return new Fault("aborted", "taken back by the caller");
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `the answer was not understood: ${what}`, { sent: true });
}
