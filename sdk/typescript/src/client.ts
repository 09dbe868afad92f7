/** The agent API: ask, wait, cancel, use the permit, report the outcome. */

import { randomBytes, type KeyObject } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import {
  encodeCall,
  outcomeBody,
  passBody,
  redemption,
  type Call,
  type EncodedCall,
} from "./call.js";
import { findDaemonKey, readDaemonKey } from "./daemon-key.js";
import { resolveConnection, type ConnectionOptions } from "./endpoint.js";
import { Fault, NotApproved } from "./errors.js";
import { exchange } from "./http.js";
import { isPlainObject, wellFormed } from "./json.js";
import { screenMessage } from "./screening.js";
import { outcomeDocument, RunTimer, type Outcome, type Report } from "./outcome.js";
import {
  approval,
  requestDocument,
  parseResponse,
  type Approval,
  type RequestDocument,
  type State,
} from "./request.js";

/** Timeout of an ordinary exchange, in milliseconds. */
const USUAL = 30_000;
/** Length of one long poll, in seconds; short, so that a lost connection is noticed soon. */
const POLL = 25;
/** How long to try to reach a daemon that was never reached, in milliseconds. */
const FIRST_CONTACT = 2_000;
/** How long to wait after the deadline: the daemon ends a request, not the client. */
const GRACE = 10_000;
/** The default deadline, in seconds. */
export const USUAL_TIMEOUT = 300;
/** How long to retry using a permit, in seconds. */
const REDEEM = 10;
/** How often an approval may turn out to have been used by another caller. */
const USED_BY_OTHERS = 3;
/** Timeout of cancelling and reporting, in milliseconds. */
const COURTESY = 3_000;

/** Options of one request. */
export interface AskOptions {
  /** Cancels the request when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Called once if the request is pending. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /**
   * How long to wait, in seconds. After that `NotApproved` with the state `waiting` is thrown; the
   * request stays pending, and asking about the same call again joins it.
   */
  readonly patienceSeconds?: number | undefined;
}

/** The result of running a call: it ran and returned a value, or it did not run. */
export type Attempt<T> =
  | { readonly ran: true; readonly value: T; readonly approval: Approval }
  | { readonly ran: false; readonly refusal: NotApproved };

/** A client of the agent API. */
export class Countersign {
  readonly #given: ConnectionOptions;

  /** Without options the daemon is found as `countersign ask` finds it. */
  constructor(given: ConnectionOptions = {}) {
    this.#given = given;
  }

  /**
   * Asks, and waits for the decision or the deadline. It returns only if the call may run;
   * otherwise `NotApproved` is thrown: a denial, the deadline, a missing daemon, an invalid
   * response. The wait survives broken connections and restarts of the daemon.
   *
   * The call must then run with `approval.arguments`. `gated` and `run` do so, and use the
   * permit.
   */
  async requestConfirmation(call: Call, options: AskOptions = {}): Promise<Approval> {
    try {
      const asked = encodeCall(call);
      // The permit is not used here, so an approval must not be shared with another caller.
      const key = call.key ?? freshKey();
      const patience = this.#patience(call, options);
      return approval(asked, await this.#answered(asked, key, options, patience));
    } catch (error) {
      throw NotApproved.from(call.tool, error);
    }
  }

  /**
   * Asks, uses the permit, runs once with exactly the approved arguments, and reports. Errors of
   * `run` are rethrown; if it may not run, `NotApproved` is thrown.
   */
  async run<T>(
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions = {},
  ): Promise<Awaited<T>> {
    const attempt = await this.attempt(call, run, options);
    if (!attempt.ran) throw attempt.refusal;
    return attempt.value;
  }

  /** The same, but a refusal is returned instead of thrown; errors of `run` are rethrown. */
  async attempt<T>(
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean } = {},
  ): Promise<Attempt<Awaited<T>>> {
    return this.#attempt(call, undefined, run, options);
  }

  /** Waits for a submitted request; if it is approved, uses its permit and runs. */
  async attemptSubmitted<T>(
    call: Call,
    request: RequestDocument,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean } = {},
  ): Promise<Attempt<Awaited<T>>> {
    return this.#attempt(call, request, run, options);
  }

  /**
   * Asks without waiting. With `join`, an existing request for the same call is shared if it is
   * pending, or approved and not yet used.
   */
  async submit(call: Call, more: { readonly join?: boolean } = {}): Promise<RequestDocument> {
    const key = call.key ?? (more.join === true ? undefined : freshKey());
    return this.#submit(encodeCall(call), key, USUAL);
  }

  /** One request. */
  async get(id: string): Promise<RequestDocument> {
    return named(id, await this.send("GET", `/v1/requests/${segment(id)}`));
  }

  /** One request, when it has ended or after this many seconds. */
  async wait(id: string, seconds = POLL): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/wait?seconds=${Math.max(Math.floor(seconds), 0)}`;
    return named(id, await this.send("GET", path, { patience: seconds * 1000 + USUAL }));
  }

  /** The agent's own requests, newest first. */
  async requests(state?: State): Promise<RequestDocument[]> {
    const query = state === undefined ? "" : `?state=${segment(state)}`;
    const page = await this.send("GET", `/v1/requests${query}`);
    const list = isPlainObject(page) ? page["requests"] : undefined;
    if (!Array.isArray(list)) throw unexpected("the list is missing");
    return list.map(requestDocument);
  }

  /** Cancels a request. */
  async cancel(id: string): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/cancel`;
    return named(id, await this.send("POST", path, { body: "{}", patience: COURTESY }));
  }

  /** Reports the outcome of a call. */
  async report(id: string, outcome: Outcome | Report, summary = ""): Promise<RequestDocument> {
    const path = `/v1/requests/${segment(id)}/outcome`;
    const body = JSON.stringify(outcomeDocument(outcome, summary));
    return named(id, await this.send("POST", path, { body, patience: COURTESY }));
  }

  /** Reports the outcome of a call; returns the id of its request, if there was one. */
  async reportOutcome(call: Call, outcome: Outcome | Report, summary = ""): Promise<string | null> {
    const body = outcomeBody(encodeCall(call), outcomeDocument(outcome, summary));
    const found = await this.send("POST", "/v1/outcomes", { body });
    const id = isPlainObject(found) ? found["request"] : undefined;
    if (id !== null && typeof id !== "string") throw unexpected("the request id is not a string");
    return id;
  }

  /**
   * Reports calls that a gateway let pass by the same rules, each with its age in seconds. Returns
   * how many of them the daemon would have asked about.
   */
  async reportPasses(
    gateway: string,
    calls: ReadonlyArray<readonly [Call, number]>,
  ): Promise<number> {
    const list = calls.map(([call, seconds]) => passBody(encodeCall(call), seconds));
    const body = `{"gateway":${JSON.stringify(gateway)},"passes":[${list.join(",")}]}`;
    const found = await this.send("POST", "/v1/passes", { body });
    const asks = isPlainObject(found) ? found["would_ask"] : undefined;
    if (typeof asks !== "number") throw unexpected("`would_ask` is missing");
    return asks;
  }

  /** The number of pending requests, from the health check. */
  async health(): Promise<number> {
    const found = await this.#readPublic("/health", COURTESY);
    if (isPlainObject(found) && found["service"] === "countersign") {
      if (typeof found["pending"] === "number") return found["pending"];
    }
    throw unexpected("the response is from another service");
  }

  /** Returns only if the daemon is ready to decide; throws otherwise. */
  async ready(): Promise<void> {
    await this.#readPublic("/ready", 10_000);
  }

  /** Uses the permit of an approval. Returns only if the permit was accepted for this call. */
  async redeem(call: Call, approved: Approval): Promise<void> {
    await this.#redeem(encodeCall(call), approved, undefined);
  }

  /** The assessment of a call, without asking a person. */
  async assess(call: Call): Promise<Record<string, unknown>> {
    const found = await this.send("POST", "/v1/assess", { body: encodeCall(call).assessed });
    if (!isPlainObject(found)) throw unexpected("the body is not an assessment");
    return found;
  }

  /**
   * Looks for signs of a person in crisis in a text, and asks the guard model about it. `role` is
   * `user` for what a person wrote (the default) and `agent` for a text before it goes out. With
   * `ask` a person is asked about an agent's text that must not go out by itself.
   *
   * A person's text is screened by the `countersign` program (`COUNTERSIGN_BINARY`, else on the
   * path) if the daemon fails, or if it takes longer than 300 ms and the text shows signs. Without
   * the program the answer has a fixed card and the concern `unknown`. Such an answer has the
   * member `offline`. A text of the agent needs the daemon.
   *
   * `userTexts` reads from the answer what the application shows to the user: the card, that no
   * person has answered, and what a person who has taken over writes.
   */
  async screen(
    text: string,
    session?: string,
    more: { role?: "user" | "agent"; ask?: boolean } = {},
  ): Promise<Record<string, unknown>> {
    const { role = "user", ask = false } = more;
    if (role === "agent") return this.#screened({ text: wellFormed(text), session, role, ask });
    if (ask) throw new Fault("input", "`ask` is for texts of an agent");
    const message = wellFormed(text);
    const answer = this.#screened({ text: message, session, role });
    return screenMessage(answer, message, this.#given.variables ?? process.env);
  }

  async #screened(asked: object): Promise<Record<string, unknown>> {
    const found = await this.send("POST", "/v1/screen", { body: JSON.stringify(asked) });
    if (!isPlainObject(found)) throw unexpected("the body is not a screening");
    return found;
  }

  /**
   * Whether a person has taken over a conversation, and what they wrote to the user. Ask every few
   * seconds while `context` is `crisis`, and read the answer with `userTexts`.
   */
  async takeover(session?: string): Promise<Record<string, unknown>> {
    const query = session === undefined ? "" : `?session=${encodeURIComponent(session)}`;
    const found = await this.send("GET", `/v1/takeover${query}`);
    if (!isPlainObject(found)) throw unexpected("the body is not a conversation");
    return found;
  }

  /** The keys that sign permits, for verifying permits without the daemon. */
  async keys(): Promise<unknown> {
    return this.send("GET", "/.well-known/jwks.json");
  }

  /** One exchange with the daemon. */
  async send(
    method: "GET" | "POST",
    path: string,
    more: { body?: string; key?: string; patience?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    const { endpoint, token } = await resolveConnection(this.#given);
    const { daemonKey, variables = process.env } = this.#given;
    const key = (): KeyObject =>
      daemonKey === undefined
        ? findDaemonKey(variables["HOME"] ?? "/")
        : readDaemonKey(daemonKey);
    return exchange(endpoint, token, { method, path, patience: USUAL, ...more }, key);
  }

  /** A path whose response lets nothing run, so that any daemon may answer. */
  async #readPublic(path: string, patience: number): Promise<unknown> {
    const { endpoint, token } = await resolveConnection(this.#given);
    return exchange(endpoint, token, { method: "GET", path, patience });
  }

  /** The same, retried while the daemon is down: only for requests with a key. */
  async sendPatiently(
    method: "GET" | "POST",
    path: string,
    more: { body: string; key: string; signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    const { signal, ...said } = more;
    return new Patience().keepTrying(() => this.send(method, path, said), signal);
  }

  #patience(call: Call, options: AskOptions): Patience {
    return new Patience(call.timeoutSeconds, options.patienceSeconds);
  }

  /** A key makes a new request; without one an existing request is joined. */
  async #submit(
    asked: EncodedCall,
    key: string | undefined,
    patience: number,
  ): Promise<RequestDocument> {
    const body = key === undefined ? asked.joining : asked.body;
    const more = { body, patience, ...(key === undefined ? {} : { key }) };
    return parseResponse(await this.send("POST", "/v1/requests?wait=0", more), asked);
  }

  async #put(
    asked: EncodedCall,
    key: string | undefined,
    options: AskOptions,
    patience: Patience,
  ): Promise<RequestDocument> {
    if (isAborted(options.signal)) throw aborted();
    const ask = (): Promise<RequestDocument> => this.#submit(asked, key, patience.exchange());
    const first = patience.keepTrying(ask, options.signal);
    return unlessAborted(first, options.signal, (late) => {
      // The request arrived after the abort, so it is cancelled as soon as its id is known.
      if (late.state === "pending" && late.id !== null) void this.cancel(late.id).catch(() => {});
    });
  }

  async #answered(
    asked: EncodedCall,
    key: string | undefined,
    options: AskOptions,
    patience: Patience,
  ): Promise<RequestDocument> {
    const request = await this.#put(asked, key, options, patience);
    return this.#ended(asked, request, options, patience);
  }

  async #ended(
    asked: EncodedCall,
    first: RequestDocument,
    options: AskOptions,
    patience: Patience,
  ): Promise<RequestDocument> {
    const { id } = first;
    if (first.state !== "pending" || id === null) return first;
    const { signal } = options;
    try {
      if (isAborted(signal)) throw aborted();
      options.onWaiting?.(first);
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
        found = parseResponse(await patience.keepTrying(poll, signal), asked);
        if (found.id !== id || found.digest !== first.digest) {
          throw unexpected("the response is for another request");
        }
      }
      return found;
    } catch (error) {
      // The caller's time is over, not the deadline: the request stays pending and can be joined.
      if (error instanceof NotApproved) throw error;
      if (error instanceof Fault && error.isTransient) {
        throw NotApproved.waiting(asked.tool, first);
      }
      // The caller no longer waits, so people should not be asked.
      await this.cancel(id).catch(() => undefined);
      throw error;
    }
  }

  async #redeem(
    asked: EncodedCall,
    approved: Approval,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { id, observed } = approved.request;
    // A gate that only observes signs no permits and blocks nothing.
    if (id === null && observed === true && !approved.edited) return;
    if (id === null || approved.permit === null) {
      throw new Fault("refused", "the approval has no usable permit");
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
    // Only now is it certain that no other caller runs it.
    if (isAborted(signal)) {
      await this.report(id, "skipped", "cancelled by the caller").catch(() => undefined);
      throw aborted();
    }
  }

  /** The only path from a decision to a call that runs: approved, permit used, run once. */
  async #attempt<T>(
    call: Call,
    submitted: RequestDocument | undefined,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    let approved: Approval;
    try {
      approved = await this.#cleared(call, submitted, options);
    } catch (error) {
      return { ran: false, refusal: NotApproved.from(call.tool, error) };
    }
    return this.#runOnce(approved, run, options);
  }

  /** Asks, waits, and uses the permit; asks again if another caller has used it. */
  async #cleared(
    call: Call,
    submitted: RequestDocument | undefined,
    options: AskOptions,
  ): Promise<Approval> {
    const patience = this.#patience(call, options);
    const named = encodeCall(call);
    const nameless = encodeCall({ ...call, callId: undefined });
    let first = submitted ?? (await this.#put(named, call.key, options, patience));
    const isOwn = submitted === undefined && call.key === undefined && call.callId !== undefined;
    if (isOwn && (first.state === "expired" || first.state === "cancelled")) {
      // No person denied this call id: some hosts use an id more than once.
      first = await this.#put(nameless, undefined, options, patience);
    }
    for (let used = 0; used < USED_BY_OTHERS; used += 1) {
      const found = approval(named, await this.#ended(named, first, options, patience));
      const isGone = found.permit === null && found.request.id !== null;
      if (!isGone || call.key !== undefined) {
        try {
          await this.#redeem(named, found, options.signal);
          return found;
        } catch (error) {
          const why = error instanceof Fault ? error.problem?.why : undefined;
          if (why !== "used" || call.key !== undefined) throw error;
        }
      }
      // Another caller with the same call used the approval: ask again, without the call id.
      first = await this.#put(nameless, undefined, options, patience);
    }
    throw new Fault(
      "refused",
      "this call was approved once, and another caller used the approval; propose it again",
    );
  }

  async #runOnce<T>(
    approved: Approval,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const { id } = approved.request;
    const ran = new RunTimer();
    const tell = async (outcome: Outcome): Promise<void> => {
      // The call has run, even if the report fails.
      if (id !== null) await this.report(id, outcome).catch(() => undefined);
    };
    let value: Awaited<T>;
    try {
      value = await run(approved.arguments, approved);
    } catch (error) {
      await tell(ran.failed(error));
      throw error;
    }
    await tell(ran.returned(value, options.failed?.(value) === true));
    return { ran: true, value, approval: approved };
  }
}

/** How long to retry a failing exchange. */
class Patience {
  readonly #start = performance.now();
  readonly #end: number;
  /** Whether the daemon ever responded. */
  #arrived: boolean;
  #pause = 100;

  /** The daemon ends a request, not the client, unless the caller has less time (`patience`). */
  constructor(seconds = USUAL_TIMEOUT, patience = Infinity, arrived = false) {
    this.#end = this.#start + Math.min(seconds * 1000 + GRACE, patience * 1000);
    this.#arrived = arrived;
  }

  /** In milliseconds. */
  left(): number {
    return this.#end - performance.now();
  }

  /** Timeout of one exchange, in milliseconds. */
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
        if (!(error instanceof Fault) || !error.isTransient) throw error;
        this.#arrived ||= error.sent;
        // A daemon that was never reached may not be running: give up early.
        const end = this.#arrived ? this.#end : Math.min(this.#start + FIRST_CONTACT, this.#end);
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

/** The promise, unless the signal is aborted first; then `late` gets a later value. */
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

/** An idempotency key: a request with it is created once, however often it is sent. */
export function freshKey(): string {
  return randomBytes(16).toString("base64url");
}

/** A path segment; only ids, so that it cannot change the path. */
export function segment(text: string): string {
  if (/^[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}$/.test(text)) return text;
  throw new Fault("input", `invalid id \`${text}\``);
}

function named(id: string, value: unknown): RequestDocument {
  const document = requestDocument(value);
  if (document.id !== id) throw unexpected("the response is for another request");
  return document;
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function aborted(): Fault {
  return new Fault("aborted", "cancelled by the caller");
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `unexpected response from the daemon: ${what}`, { sent: true });
}
