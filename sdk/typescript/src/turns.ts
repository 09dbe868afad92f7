/** The calls of one turn of a model, planned once: people see one group, order is kept. */

import { setTimeout as pause } from "node:timers/promises";

import { submitted, type Answer } from "./batch.js";
import { asked as read, sha256, type Call } from "./call.js";
import type { Asking, Attempt, Countersign } from "./client.js";
import { NotApproved } from "./errors.js";
import type { Approval } from "./request.js";

/** Turns that are remembered; more than that were left unfinished by their hosts. */
const MOST = 1000;
/** How long a call that must run first may take to begin; a host may have dropped it. */
const ABSENT = 1_000;
const LOOK = 10;

/** A planned call: how it stands, and what has to be over before it runs. */
interface Seat {
  readonly call: Call;
  readonly answer: Answer;
  readonly before: readonly Seat[];
  hasBegun: boolean;
  isOver: boolean;
}

type Seats = ReadonlyMap<string | undefined, Seat>;

/** The turns of one adapter. */
export class Turns {
  readonly #client: Countersign;
  readonly #turns = new Map<string, Promise<Seats>>();

  constructor(client: Countersign) {
    this.#client = client;
  }

  /** Like `Countersign.attempt`, for one of the calls that a model made at once. */
  async attempt<T>(
    call: Call,
    turn: readonly Call[],
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const names = turn.map((one) => one.callId);
    // Only what can be told apart is planned together.
    const isTurn = turn.length > 1 && new Set(names).size === names.length;
    if (!isTurn || names.some((name) => !name) || !names.includes(call.callId)) {
      return this.#client.attempt(call, run, asking);
    }
    const key = sha256(["turn", call.session ?? "", ...names].join("\0"));
    const planned = this.#turns.get(key) ?? this.#plan(turn, key);
    this.#turns.set(key, planned);
    for (const oldest of this.#turns.keys()) {
      if (this.#turns.size <= MOST) break;
      this.#turns.delete(oldest);
    }
    // A turn that cannot be planned is asked about call by call, and each says what is wrong.
    const seats = await planned.catch((): Seats => new Map());
    const seat = seats.get(call.callId);
    try {
      if (seat === undefined) return await this.#client.attempt(call, run, asking);
      return await this.#seated(seat, call, run, asking);
    } finally {
      if (seat !== undefined) seat.hasBegun = seat.isOver = true;
      if ([...seats.values()].every((one) => one.isOver)) this.#turns.delete(key);
    }
  }

  async #seated<T>(
    seat: Seat,
    call: Call,
    run: (args: Record<string, unknown>, approval: Approval) => T,
    asking: Asking & { readonly failed?: (value: Awaited<T>) => boolean },
  ): Promise<Attempt<Awaited<T>>> {
    const { answer } = seat;
    if (answer instanceof NotApproved) return { ran: false, refusal: answer };
    const start = performance.now();
    const patience = (asking.patienceSeconds ?? Infinity) * 1000;
    seat.hasBegun = true;
    for (;;) {
      const waited = performance.now() - start;
      const isLate = waited > ABSENT;
      if (seat.before.every((one) => one.isOver || (isLate && !one.hasBegun))) break;
      if (waited >= patience) {
        return { ran: false, refusal: NotApproved.waiting(call.tool, answer) };
      }
      // Whoever took it back is told so below, and so are people.
      if (asking.signal?.aborted === true) break;
      await pause(LOOK);
    }
    const left = Math.max(patience - (performance.now() - start), 0) / 1000;
    const rest = Number.isFinite(left) ? { ...asking, patienceSeconds: left } : asking;
    if (read(call).body === read(seat.call).body) {
      return this.#client.attemptSubmitted(call, answer, run, rest);
    }
    // It changed since it was planned: what was asked is not what would run.
    if (answer.state === "pending" && answer.id !== null) {
      await this.#client.cancel(answer.id).catch(() => undefined);
    }
    return this.#client.attempt(call, run, rest);
  }

  async #plan(turn: readonly Call[], key: string): Promise<Seats> {
    const calls = turn.map((one) => ({ ...one, arguments: read(one).argumentsText }));
    const { answers, stages } = await submitted(this.#client, calls, { key });
    const seats: Seat[] = [];
    const first: Seat[] = [];
    for (const stage of stages) {
      const before = [...first];
      for (const at of stage) {
        const [call, answer] = [turn[at], answers[at]];
        if (call === undefined || answer === undefined) throw new TypeError("a call is missing");
        const seat = { call, answer, before, hasBegun: false, isOver: false };
        seats.push(seat);
        first.push(seat);
      }
    }
    return new Map(seats.map((seat) => [seat.call.callId, seat]));
  }
}
