/** A list of calls: asked about at once, run in the order in which they may run side by side. */

import { asked as read, type Call } from "./call.js";
import { freshKey, type Asking, type Countersign } from "./client.js";
import { Fault, NotApproved, type Problem } from "./errors.js";
import { isPlainObject } from "./json.js";
import { understood, type Approval, type RequestDocument } from "./request.js";

/** One call of a batch, and what runs it. */
export interface BatchCall<T> extends Omit<Call, "key"> {
  /** Runs once, with exactly the approved arguments. */
  readonly run: (args: Record<string, unknown>, approval: Approval) => T | Promise<T>;
}

/** What may be said about a batch. */
export interface BatchAsking extends Asking {
  /** The idempotency key of the whole batch. */
  readonly key?: string | undefined;
}

/** How a call of a batch stands, or why it was refused. */
export type Answer = RequestDocument | NotApproved;

/**
 * Asks about all calls at once; people see them as one group. What is approved runs stage by
 * stage as the daemon plans it. The results stand in the order of the calls, and one failure
 * loses no other: a refused call is `rejected` with a `NotApproved`.
 */
export async function runBatch<T>(
  client: Countersign,
  calls: ReadonlyArray<BatchCall<T>>,
  asking: BatchAsking = {},
): Promise<Array<PromiseSettledResult<T>>> {
  if (calls.length === 0) return [];
  const results = new Array<PromiseSettledResult<T> | undefined>(calls.length).fill(undefined);
  const refuse = (at: number, error: unknown): void => {
    results[at] ??= {
      status: "rejected",
      reason: NotApproved.from(calls[at]?.tool ?? "the call", error),
    };
  };
  try {
    // Read once: what happens to the objects later changes nothing.
    const fixed = calls.map((call) => ({ ...call, arguments: read(call).argumentsText }));
    const { answers, stages } = await submitted(client, fixed, asking);
    for (const stage of stages) {
      await Promise.all(
        stage.map(async (at) => {
          results[at] = await settled(client, fixed[at], answers[at], asking);
        }),
      );
    }
  } catch (error) {
    calls.forEach((_, at) => refuse(at, error));
  }
  return Array.from(results, (result, at) => {
    const reason = new NotApproved(calls[at]?.tool ?? "the call", "error", "nobody answered");
    return result ?? { status: "rejected", reason };
  });
}

async function settled<T>(
  client: Countersign,
  call: BatchCall<T> | undefined,
  answer: Answer | undefined,
  asking: Asking,
): Promise<PromiseSettledResult<T>> {
  if (call === undefined || answer === undefined) {
    throw new Fault("unexpected", "the answer was not understood: a call is missing");
  }
  if (answer instanceof NotApproved) return { status: "rejected", reason: answer };
  try {
    const attempt = await client.attemptSubmitted(call, answer, call.run, asking);
    if (!attempt.ran) return { status: "rejected", reason: attempt.refusal };
    return { status: "fulfilled", value: attempt.value };
  } catch (error) {
    return { status: "rejected", reason: error };
  }
}

/** Asks about all calls at once, without waiting: how each stands, and what may run when. */
export async function submitted(
  client: Countersign,
  calls: readonly Call[],
  asking: BatchAsking,
): Promise<{ answers: Answer[]; stages: number[][] }> {
  if (asking.signal?.aborted === true) throw new Fault("aborted", "taken back by the caller");
  const asked = calls.map((call) => read(call));
  const body = `{"calls":[${asked.map((one) => one.body).join(",")}]}`;
  const reply = await client.sendPatiently("POST", "/v1/batches", {
    body,
    key: asking.key ?? freshKey(),
    signal: asking.signal,
  });
  const requests = isPlainObject(reply) ? reply["requests"] : undefined;
  if (!isPlainObject(reply) || !Array.isArray(requests) || requests.length !== calls.length) {
    throw new Fault("unexpected", "the answer was not understood: it answers other calls");
  }
  const answers = asked.map((one, at): Answer => {
    const found: unknown = requests[at];
    try {
      if (isPlainObject(found) && isPlainObject(found["problem"])) {
        const problem = found["problem"] as unknown as Problem;
        throw new Fault("refused", String(problem.detail), { problem });
      }
      return understood(found, one);
    } catch (error) {
      return NotApproved.from(one.tool, error);
    }
  });
  return { answers, stages: planned(reply["stages"], calls.length) };
}

/** Every call stands in exactly one stage; a plan that says otherwise is not followed. */
function planned(stages: unknown, count: number): number[][] {
  const lists = Array.isArray(stages) ? (stages as unknown[]) : [];
  const flat: unknown[] = lists.flat();
  const whole = new Set(flat);
  const fits = flat.length === count && whole.size === count;
  if (!fits || !Array.from({ length: count }, (_, at) => at).every((at) => whole.has(at))) {
    // One after another is always in order.
    return Array.from({ length: count }, (_, at) => [at]);
  }
  return lists.map((stage) => (Array.isArray(stage) ? (stage as number[]) : [stage as number]));
}
