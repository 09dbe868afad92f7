import assert from "node:assert/strict";
import { test } from "node:test";

import { argumentsText, canonical, held } from "../src/json.js";

test("arguments are sent exactly, or rejected", () => {
  assert.equal(
    argumentsText({ b: 1.5, a: [null, true, "ü"], gone: undefined }),
    '{"b":1.5,"a":[null,true,"ü"]}',
  );
  assert.equal(argumentsText(' {"amount": 1.00} '), '{"amount": 1.00}');
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const bad: unknown[] = [
    null,
    [],
    7,
    "7",
    "[]",
    "{",
    '{"a":1}, "risk_level": "low"',
    { a: NaN },
    { a: Infinity },
    { a: 1n },
    { a: new Date() },
    { a: new Map() },
    { a: () => 1 },
    { a: Symbol("a") },
    { a: [undefined] },
    { a: "\ud800" },
    { "\udfff": 1 },
    loop,
  ];
  for (const [at, one] of bad.entries()) {
    assert.throws(() => argumentsText(one), { name: "Fault", kind: "input" }, `number ${at}`);
  }
});

test("a number that a double cannot represent is rejected with a clear error", () => {
  assert.throws(() => argumentsText('{"to":"9007199254740993","id":9007199254740993}'), {
    message:
      "the number 9007199254740993 has more digits than a double can represent; send it as a string",
  });
  assert.throws(() => argumentsText({ id: 9007199254740993n }), {
    message: "arguments.id is a bigint, which a double may not represent; send it as a string",
  });
  for (const fine of [
    "0",
    "-0",
    "0.1",
    "1e2",
    "1E-7",
    "100",
    "9007199254740992",
    "1.50",
    "5e-324",
  ]) {
    assert.ok(held(fine), fine);
  }
  for (const bad of ["9007199254740993", "1e400", "0.30000000000000001", "1e-400"]) {
    assert.ok(!held(bad), bad);
  }
});

test("the canonical text is unique", () => {
  assert.equal(
    canonical({ "\ue000": 1, "\u{1f600}": 2, b: -0, a: [1e21, 1e-7, "\u0007/"] }),
    '{"a":[1e+21,1e-7,"\\u0007/"],"b":0,"\u{1f600}":2,"\ue000":1}',
  );
});
