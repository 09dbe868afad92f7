/** What an application shows to the user after a text was screened. */

import { isPlainObject } from "./json.js";

/** The parts of an answer of `screen` or `takeover` that are for the user. */
export interface UserTexts {
  /** The card that answers signs of a crisis. */
  readonly card: string | undefined;
  /** Says that no person has answered, with the whole card again. */
  readonly unanswered: string | undefined;
  /** Says that a person has taken over the conversation. Nothing of the agent is shown then. */
  readonly takeover: string | undefined;
  /** What that person wrote, with numbers from 1. */
  readonly messages: ReadonlyArray<{ readonly number: number; readonly text: string }>;
  /**
   * All of this, in the order in which it is shown. Messages up to the number `after` were shown
   * before.
   */
  readonly texts: readonly string[];
}

/** Reads an answer of `screen` or `takeover`. What has another form is left out. */
export function userTexts(answer: Record<string, unknown>, after = 0): UserTexts {
  const taken = answer["takeover"];
  const listed = isPlainObject(taken) ? taken["messages"] : undefined;
  const messages: Array<{ number: number; text: string }> = [];
  for (const one of Array.isArray(listed) ? (listed as unknown[]) : []) {
    const number = isPlainObject(one) ? one["number"] : undefined;
    const text = textOf(one, "text");
    if (typeof number === "number" && text !== undefined) messages.push({ number, text });
  }
  const card = textOf(answer["card"], "text");
  const unanswered = textOf(answer["notice"], "text");
  const takeover = textOf(taken, "notice");
  const fresh = messages.filter((one) => one.number > after).map((one) => one.text);
  const parts = [unanswered ?? card, after === 0 ? takeover : undefined, ...fresh];
  const texts = parts.filter((text) => text !== undefined && text !== "") as string[];
  return { card, unanswered, takeover, messages, texts };
}

function textOf(found: unknown, member: string): string | undefined {
  const text = isPlainObject(found) ? found[member] : undefined;
  return typeof text === "string" ? text : undefined;
}
