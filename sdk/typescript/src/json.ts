/** Arguments as the exact JSON text that is hashed, shown to a person and run. */

import { Fault } from "./errors.js";

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** The deepest nesting; it also stops circular objects. */
const DEEPEST = 200;

/**
 * The text of arguments: an object of JSON values, or the JSON text of one. A value that JSON does
 * not represent exactly is rejected.
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

/** Whether a double represents exactly this number. */
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
  if (depth > DEEPEST) throw bad(`${place} is nested too deeply, or circular`);
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw bad(`${place} is ${value}, which JSON cannot represent`);
      return JSON.stringify(value);
    case "string":
      if (/\p{Surrogate}/u.test(value)) throw bad(`${place} contains an unpaired surrogate`);
      return JSON.stringify(value);
    case "bigint":
      throw bad(`${place} is a bigint, which a double may not represent; send it as a string`);
  }
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const items = Array.from(value, (item, at) =>
      written(item, `${place}[${at}]`, depth + 1, keysOf),
    );
    return `[${items.join(",")}]`;
  }
  if (!isPlainObject(value)) throw bad(`${place} is ${named(value)}, which JSON cannot represent`);
  const members: string[] = [];
  for (const key of keysOf(value)) {
    const member = value[key];
    // As in JSON.stringify, an undefined member is omitted.
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
    throw bad(`the arguments are not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isPlainObject(value)) throw bad("the arguments must be a JSON object");
  // The tool runs with the parsed value, so every number must be exact.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    if (!token.startsWith('"') && !held(token)) {
      throw bad(
        `the number ${token} has more digits than a double can represent; send it as a string`,
      );
    }
  }
  return text.trim();
}

/** The value of a decimal number in a unique form. */
function decimal(text: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (parts === null) return `not a number: ${text}`;
  const [, sign = "", whole = "", fraction = "", power = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  if (digits === "") return "0";
  const short = digits.replace(/0+$/, "");
  const exponent = BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - short.length);
  return `${sign}${short}e${exponent}`;
}

/** Replaces unpaired surrogates, which are not valid in UTF-8. */
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
