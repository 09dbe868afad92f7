/** The calls of one turn of a model: people see one group, and the order is kept. */

import { setTimeout as pause } from "node:timers/promises";

import { submitted, type Answer } from "./batch.js";
import { encodeCall, sha256, type Call } from "./call.js";
import type { AskOptions, Attempt, Countersign } from "./client.js";
import { NotApproved } from "./errors.js";
import type { Approval } from "./request.js";

/** Turns that are remembered; hosts have dropped older ones. */
const MAX_TURNS = 1000;
/** How long a call that must run first may take to start, in milliseconds; a host may drop it. */
const ABSENT_AFTER = 1_000;
const POLL_INTERVAL = 10;

/** A submitted call of a turn, and the calls that must end before it runs. */
interface PlannedCall {
  readonly call: Call;
  readonly answer: Answer;
  readonly before: readonly PlannedCall[];
  hasBegun: boolean;
  isOver: boolean;
}

type PlannedCalls = ReadonlyMap<string | undefined, PlannedCall>;

/** The turns of one adapter. */
export class Turns {
  readonly #client: Countersign;
  readonly #turns = new Map<string, Promise<PlannedCalls>>();

  constructor(client: Countersign) {
    this.#client = client;
  }

  /** Like `Countersign.attempt`, for one of the calls that a model made at once. */
  async attempt<T>(
    call: Call,
    turn: readonly Call[],
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const names = turn.map((one) => one.callId);
    // Only calls with distinct ids can be submitted as a group.
    const isTurn = turn.length > 1 && new Set(names).size === names.length;
    if (!isTurn || names.some((name) => !name) || !names.includes(call.callId)) {
      return this.#client.attempt(call, run, options);
    }
    const key = sha256(["turn", call.session ?? "", ...names].join("\0"));
    const submitting = this.#turns.get(key) ?? this.#plan(turn, key);
    this.#turns.set(key, submitting);
    for (const oldest of this.#turns.keys()) {
      if (this.#turns.size <= MAX_TURNS) break;
      this.#turns.delete(oldest);
    }
    // A turn that cannot be submitted as a group is asked about call by call.
    const calls = await submitting.catch((): PlannedCalls => new Map());
    const planned = calls.get(call.callId);
    try {
      if (planned === undefined) return await this.#client.attempt(call, run, options);
      return await this.#attemptPlanned(planned, call, run, options);
    } finally {
      if (planned !== undefined) planned.hasBegun = planned.isOver = true;
      if ([...calls.values()].every((one) => one.isOver)) this.#turns.delete(key);
    }
  }

  async #attemptPlanned<T>(
    planned: PlannedCall,
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    options: AskOptions & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const { answer } = planned;
    if (answer instanceof NotApproved) return { ran: false, refusal: answer };
    const start = performance.now();
    const patience = (options.patienceSeconds ?? Infinity) * 1000;
    planned.hasBegun = true;
    for (;;) {
      const waited = performance.now() - start;
      const isLate = waited > ABSENT_AFTER;
      if (planned.before.every((one) => one.isOver || (isLate && !one.hasBegun))) break;
      if (waited >= patience) {
        return { ran: false, refusal: NotApproved.waiting(call.tool, answer) };
      }
      // The abort is handled below: the request is cancelled.
      if (options.signal?.aborted === true) break;
      await pause(POLL_INTERVAL);
    }
    const left = Math.max(patience - (performance.now() - start), 0) / 1000;
    const rest = Number.isFinite(left) ? { ...options, patienceSeconds: left } : options;
    if (encodeCall(call).body === encodeCall(planned.call).body) {
      return this.#client.attemptSubmitted(call, answer, run, rest);
    }
    // The call changed after it was submitted, so its request is for another call.
    if (answer.state === "pending" && answer.id !== null) {
      await this.#client.cancel(answer.id).catch(() => undefined);
    }
    return this.#client.attempt(call, run, rest);
  }

  async #plan(turn: readonly Call[], key: string): Promise<PlannedCalls> {
    const calls = turn.map((one) => ({ ...one, arguments: encodeCall(one).argumentsText }));
    const { answers, stages } = await submitted(this.#client, calls, { key });
    const plan: PlannedCall[] = [];
    const first: PlannedCall[] = [];
    for (const stage of stages) {
      const before = [...first];
      for (const at of stage) {
        const [call, answer] = [turn[at], answers[at]];
        if (call === undefined || answer === undefined) throw new TypeError("a call is missing");
        const planned = { call, answer, before, hasBegun: false, isOver: false };
        plan.push(planned);
        first.push(planned);
      }
    }
    return new Map(plan.map((planned) => [planned.call.callId, planned]));
  }
}
