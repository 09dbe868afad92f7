/** Arguments as the exact JSON text that is hashed, shown to a person and run. */

import { Fault } from "./errors.js";

/** A JSON value. */
export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Deep enough for any call, and an end for what contains itself. */
const DEEPEST = 200;

/**
 * The text of some arguments: an object of JSON values, or a text that holds one. What would
 * become something else on its way through JSON is refused, never guessed at.
 */
export function argumentsText(given: unknown): string {
  if (typeof given === "string") return checkedText(given);
  if (!isPlainObject(given)) {
    throw bad(`the arguments must be an object, not ${named(given)}`);
  }
  return written(given, "arguments", 0, Object.keys);
}

/** Canonical JSON (RFC 8785) of a parsed value. */
export function canonical(value: unknown): string {
  return written(value, "value", 0, (object) => Object.keys(object).sort());
}

/** Whether a double holds exactly the number that was written. */
export function held(digits: string): boolean {
  const double = Number(digits);
  return Number.isFinite(double) && decimal(digits) === decimal(String(double));
}

function written(
  value: unknown,
  place: string,
  depth: number,
  keysOf: (object: object) => string[],
): string {
  if (depth > DEEPEST) throw bad(`${place} lies too deep, or contains itself`);
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw bad(`${place} is ${value}, which JSON cannot say`);
      return JSON.stringify(value);
    case "string":
      if (/\p{Surrogate}/u.test(value)) throw bad(`${place} holds half a character`);
      return JSON.stringify(value);
    case "bigint":
      throw bad(`${place} is a number that a double may not hold; send it as text`);
  }
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const items = Array.from(value, (item, at) =>
      written(item, `${place}[${at}]`, depth + 1, keysOf),
    );
    return `[${items.join(",")}]`;
  }
  if (!isPlainObject(value)) throw bad(`${place} is ${named(value)}, which JSON cannot say`);
  const members: string[] = [];
  for (const key of keysOf(value)) {
    const member = value[key];
    // As everywhere in JavaScript: what is undefined is not there.
    if (member === undefined) continue;
    const text = written(member, `${place}.${key}`, depth + 1, keysOf);
    members.push(`${written(key, `${place}.${key}`, depth + 1, keysOf)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function checkedText(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(`the arguments are no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isPlainObject(value)) throw bad("the arguments must be a JSON object");
  // What runs is what JSON.parse makes of the text, so every number must come out as written.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    if (!token.startsWith('"') && !held(token)) {
      throw bad(`the number ${token} has more digits than a double holds; send it as text`);
    }
  }
  return text.trim();
}

/** The value of a decimal number, in one form only. */
function decimal(text: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (parts === null) return `no number: ${text}`;
  const [, sign = "", whole = "", fraction = "", power = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  if (digits === "") return "0";
  const short = digits.replace(/0+$/, "");
  const exponent = BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - short.length);
  return `${sign}${short}e${exponent}`;
}

/** Half characters would make a whole message unreadable. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Whether a value is an object without a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function named(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return `a ${value.constructor?.name ?? "class"}`;
  return `a ${typeof value}`;
}

function bad(what: string): Fault {
  return new Fault("input", what);
}
