import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { authority, doorsIn, parseDoor, reach } from "../src/door.js";

test("doors are read in the forms people write", () => {
  const tcp = { kind: "tcp", host: "127.0.0.1", port: 6000 };
  assert.deepEqual(parseDoor("127.0.0.1:6000"), tcp);
  assert.deepEqual(parseDoor("http://127.0.0.1:6000/"), tcp);
  assert.deepEqual(parseDoor("unix:/run/a.sock"), { kind: "unix", path: "/run/a.sock" });
  assert.deepEqual(parseDoor("/run/a.sock"), { kind: "unix", path: "/run/a.sock" });
  assert.equal(authority(parseDoor("http://[::1]:6000")), "[::1]:6000");
  const bad = [
    "",
    "6000",
    "host",
    "host:",
    "host:x",
    "https://a:1",
    "unix:x",
    ":1",
    "a b:1",
    "a/b:1",
    "a\r\nx:1",
    "host:70000",
  ];
  for (const one of bad) assert.throws(() => parseDoor(one), { kind: "input" }, one);
});

test("the daemon is found by option, variable, configuration, socket, in this order", (t) => {
  const home = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(home, { recursive: true }));
  const at = (variables: Record<string, string>, more = {}) =>
    reach({ variables: { HOME: home, ...variables }, ...more }).door;
  const unix = (...path: string[]) => ({ kind: "unix", path: join(...path) });
  const tcp = (port: number) => ({ kind: "tcp", host: "127.0.0.1", port });
  assert.deepEqual(at({}), unix(home, ".local/state/countersign/agents.sock"));
  assert.deepEqual(at({ XDG_RUNTIME_DIR: "/run/u" }), unix("/run/u/countersign/agents.sock"));
  const state = { XDG_RUNTIME_DIR: "/run/u", COUNTERSIGN_STATE: "/s" };
  assert.deepEqual(at(state), unix("/s/agents.sock"));
  assert.deepEqual(at({ COUNTERSIGN_AGENT_TOKEN: "csa_x" }), tcp(6000));
  assert.deepEqual(at({ COUNTERSIGN_AGENTS: "127.0.0.1:1", COUNTERSIGN_AGENT_TOKEN: "" }), tcp(1));
  assert.deepEqual(at({ COUNTERSIGN_AGENTS: "127.0.0.1:1" }, { agents: "127.0.0.1:2" }), tcp(2));
  const config = join(home, "c.toml");
  writeFileSync(config, "[listen]\nagents = \"0.0.0.0:7000\" # here\nsocket = '/run/own.sock'\n");
  assert.deepEqual(at({ COUNTERSIGN_CONFIG: config }), unix("/run/own.sock"));
  assert.deepEqual(at({ COUNTERSIGN_CONFIG: config, COUNTERSIGN_AGENT_TOKEN: "t" }), tcp(7000));
  writeFileSync(config, 'listen.socket = ""\n');
  assert.deepEqual(at({ COUNTERSIGN_CONFIG: config }), tcp(6000));
});

test("a configuration that is not read for sure is not guessed at", () => {
  const fine = 'mode = "enforce"\n[listen] # ours\nagents = "127.0.0.1:1"\n[[x]]\nagents = "no"\n';
  assert.deepEqual(doorsIn(fine), { agents: "127.0.0.1:1" });
  const bad = [
    'doors = { socket = "/a" }',
    '[listen]\nsocket = "/a\\u0062"',
    '["doors"]\nagents = 1',
    'x = """\n[listen]\nsocket = "/a"\n"""',
  ];
  for (const one of bad) assert.throws(() => doorsIn(one), /COUNTERSIGN_AGENTS/, one);
});

test("a token that others can read is not taken", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "csa_secret\n", { mode: 0o600 });
  assert.equal(reach({ tokenFile, agents: "127.0.0.1:1" }).token, "csa_secret");
  chmodSync(tokenFile, 0o644);
  assert.throws(() => reach({ tokenFile, agents: "127.0.0.1:1" }), /chmod 600/);
  assert.throws(() => reach({ token: "a\r\nX: y", agents: "127.0.0.1:1" }), { kind: "input" });
});
