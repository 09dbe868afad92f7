import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { encodeCall, type Call } from "../src/call.js";

function sent(call: Omit<Call, "tool">): unknown {
  const body = JSON.parse(encodeCall({ tool: "x", ...call }).body) as Record<string, unknown>;
  return body["project"];
}

test("every question names the project of the call", () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  const shop = join(folder, "shop");
  mkdirSync(join(shop, ".git"), { recursive: true });
  mkdirSync(join(shop, "src"));
  assert.equal(sent({ cwd: join(shop, "src") }), shop);
  assert.equal(sent({ cwd: join(shop, "src"), project: "/srv/given" }), "/srv/given");
  assert.equal(sent({ cwd: shop, project: "" }), undefined);
  assert.equal(sent({ cwd: "relative" }), undefined);
  const process = encodeCall({ tool: "x", project: "/srv/given" });
  // An approval does not depend on the project.
  assert.equal(process.cwd, undefined);
});
