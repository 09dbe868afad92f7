/** Batches: several calls in one group, run in stages. */

import { encodeCall, type Call } from "./call.js";
import { freshKey, type AskOptions, type Countersign } from "./client.js";
import { Fault, NotApproved, type Problem } from "./errors.js";
import { isPlainObject } from "./json.js";
import { parseResponse, type Approval, type RequestDocument } from "./request.js";

/** One call of a batch, and the function that runs it. */
export interface BatchCall<T> extends Omit<Call, "key"> {
  /** Runs once, with exactly the approved arguments. */
  readonly run: (args: Record<string, unknown>, approval: Approval) => T | Promise<T>;
}

/** Options of a batch. */
export interface BatchOptions extends AskOptions {
  /** The idempotency key of the whole batch. */
  readonly key?: string | undefined;
}

/** The request of a call of a batch, or why it was rejected. */
export type Answer = RequestDocument | NotApproved;

/**
 * Asks about all calls at once; people see one group. Approved calls run stage by stage as the
 * daemon plans. The results are in the order of the calls, and a failure does not affect the
 * others: a call that is not approved is `rejected` with a `NotApproved`.
 */
export async function runBatch<T>(
  client: Countersign,
  calls: ReadonlyArray<BatchCall<T>>,
  options: BatchOptions = {},
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
    // Encoded once: later changes of the objects have no effect.
    const fixed = calls.map((call) => ({ ...call, arguments: encodeCall(call).argumentsText }));
    const { answers, stages } = await submitted(client, fixed, options);
    for (const stage of stages) {
      await Promise.all(
        stage.map(async (at) => {
          results[at] = await settled(client, fixed[at], answers[at], options);
        }),
      );
    }
  } catch (error) {
    calls.forEach((_, at) => refuse(at, error));
  }
  return Array.from(results, (result, at) => {
    const reason = new NotApproved(
      calls[at]?.tool ?? "the call",
      "error",
      "the call was not decided",
    );
    return result ?? { status: "rejected", reason };
  });
}

async function settled<T>(
  client: Countersign,
  call: BatchCall<T> | undefined,
  answer: Answer | undefined,
  options: AskOptions,
): Promise<PromiseSettledResult<T>> {
  if (call === undefined || answer === undefined) {
    throw new Fault("unexpected", "unexpected response from the daemon: a call is missing");
  }
  if (answer instanceof NotApproved) return { status: "rejected", reason: answer };
  try {
    const attempt = await client.attemptSubmitted(call, answer, call.run, options);
    if (!attempt.ran) return { status: "rejected", reason: attempt.refusal };
    return { status: "fulfilled", value: attempt.value };
  } catch (error) {
    return { status: "rejected", reason: error };
  }
}

/** Submits all calls as one group, without waiting; returns the requests and the stages. */
export async function submitted(
  client: Countersign,
  calls: readonly Call[],
  options: BatchOptions,
): Promise<{ answers: Answer[]; stages: number[][] }> {
  if (options.signal?.aborted === true) throw new Fault("aborted", "cancelled by the caller");
  const asked = calls.map((call) => encodeCall(call));
  const body = `{"calls":[${asked.map((one) => one.body).join(",")}]}`;
  const reply = await client.sendPatiently("POST", "/v1/batches", {
    body,
    key: options.key ?? freshKey(),
    signal: options.signal,
  });
  const requests = isPlainObject(reply) ? reply["requests"] : undefined;
  if (!isPlainObject(reply) || !Array.isArray(requests) || requests.length !== calls.length) {
    throw new Fault(
      "unexpected",
      "unexpected response from the daemon: another number of requests than calls",
    );
  }
  const answers = asked.map((one, at): Answer => {
    const found: unknown = requests[at];
    try {
      if (isPlainObject(found) && isPlainObject(found["problem"])) {
        const problem = found["problem"] as unknown as Problem;
        throw new Fault("refused", String(problem.detail), { problem });
      }
      return parseResponse(found, one);
    } catch (error) {
      return NotApproved.from(one.tool, error);
    }
  });
  return { answers, stages: planned(reply["stages"], calls.length) };
}

/** The stages, if each call is in exactly one stage; an invalid plan is not followed. */
function planned(stages: unknown, count: number): number[][] {
  const lists = Array.isArray(stages) ? (stages as unknown[]) : [];
  const flat: unknown[] = lists.flat();
  const whole = new Set(flat);
  const fits = flat.length === count && whole.size === count;
  if (!fits || !Array.from({ length: count }, (_, at) => at).every((at) => whole.has(at))) {
    // One after another is always a valid order.
    return Array.from({ length: count }, (_, at) => [at]);
  }
  return lists.map((stage) => (Array.isArray(stage) ? (stage as number[]) : [stage as number]));
}
