import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  authority,
  firstOpen,
  listenSettings,
  parseEndpoint,
  resolveConnection,
  systemSocket,
} from "../src/endpoint.js";

test("every form of an address is parsed", () => {
  const tcp = { kind: "tcp", host: "127.0.0.1", port: 6000 };
  assert.deepEqual(parseEndpoint("127.0.0.1:6000"), tcp);
  assert.deepEqual(parseEndpoint("http://127.0.0.1:6000/"), tcp);
  assert.deepEqual(parseEndpoint("unix:/run/a.sock"), { kind: "unix", path: "/run/a.sock" });
  assert.deepEqual(parseEndpoint("/run/a.sock"), { kind: "unix", path: "/run/a.sock" });
  assert.equal(authority(parseEndpoint("http://[::1]:6000")), "[::1]:6000");
  const bad = [
    "",
    "6000",
    "host",
    "host:",
    "host:x",
    "unix:x",
    ":1",
    "a b:1",
    "a/b:1",
    "a\r\nx:1",
    "host:70000",
  ];
  for (const one of bad) assert.throws(() => parseEndpoint(one), { kind: "input" }, one);
});

test("the daemon is found by option, variable, configuration, socket, in this order", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(home, { recursive: true }));
  const at = async (variables: Record<string, string>, more = {}) =>
    (await resolveConnection({ variables: { HOME: home, ...variables }, ...more })).endpoint;
  const unix = (...path: string[]) => ({ kind: "unix", path: join(...path) });
  const tcp = (port: number) => ({ kind: "tcp", host: "127.0.0.1", port });
  assert.deepEqual(await at({}), unix(home, ".local/state/countersign/agents.sock"));
  assert.deepEqual(await at({ XDG_RUNTIME_DIR: "/run/u" }), unix("/run/u/countersign/agents.sock"));
  const state = { XDG_RUNTIME_DIR: "/run/u", COUNTERSIGN_STATE: "/s" };
  assert.deepEqual(await at(state), unix("/s/agents.sock"));
  assert.deepEqual(await at({ COUNTERSIGN_AGENT_TOKEN: "csa_x" }), tcp(6000));
  assert.deepEqual(
    await at({ COUNTERSIGN_AGENTS: "127.0.0.1:1", COUNTERSIGN_AGENT_TOKEN: "" }),
    tcp(1),
  );
  assert.deepEqual(
    await at({ COUNTERSIGN_AGENTS: "127.0.0.1:1" }, { agents: "127.0.0.1:2" }),
    tcp(2),
  );
  const config = join(home, "c.toml");
  writeFileSync(config, "[listen]\nagents = \"0.0.0.0:7000\" # here\nsocket = '/run/own.sock'\n");
  assert.deepEqual(await at({ COUNTERSIGN_CONFIG: config }), unix("/run/own.sock"));
  assert.deepEqual(
    await at({ COUNTERSIGN_CONFIG: config, COUNTERSIGN_AGENT_TOKEN: "t" }),
    tcp(7000),
  );
  writeFileSync(config, 'listen.socket = ""\n');
  assert.deepEqual(await at({ COUNTERSIGN_CONFIG: config }), tcp(6000));
});

test("the socket is found without the variables that hosts strip", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [expected, runtime, state] = ["expected", "runtime", "state"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const uid = process.getuid?.() ?? 0;
  const found = (user = uid) => firstOpen(expected, [runtime, state], user);
  const listen = async (path: string): Promise<Server> => {
    const server = createServer().listen(path);
    await once(server, "listening");
    t.after(() => server.close());
    return server;
  };
  const stop = async (server: Server): Promise<void> => {
    server.close();
    await once(server, "close");
  };
  assert.equal(await found(), expected);
  writeFileSync(runtime, "not a socket");
  await listen(state);
  assert.equal(await found(), state);
  rmSync(runtime);
  const inRuntime = await listen(runtime);
  assert.equal(await found(), runtime);
  const inExpected = await listen(expected);
  assert.equal(await found(), expected);
  await stop(inExpected);
  await stop(inRuntime);
  // A crash leaves the file behind.
  writeFileSync(expected, "");
  assert.equal(await found(), state);
  // Another user could have put a socket there.
  assert.equal(await found(uid + 1), expected);

  // A daemon that was started without XDG_RUNTIME_DIR has its socket in the state folder.
  const own = join(folder, "countersign");
  mkdirSync(own);
  await listen(join(own, "agents.sock"));
  const variables = { HOME: folder, XDG_STATE_HOME: folder, XDG_RUNTIME_DIR: "/nonexistent" };
  const { endpoint } = await resolveConnection({ variables });
  assert.deepEqual(endpoint, { kind: "unix", path: join(own, "agents.sock") });
  const named = await resolveConnection({ variables: { ...variables, COUNTERSIGN_STATE: "/s" } });
  assert.deepEqual(named.endpoint, { kind: "unix", path: "/s/agents.sock" });
});

test("a system service hides every other socket", (t) => {
  const root = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(root, { recursive: true }));
  const places = { folder: join(root, "run/countersign"), service: join(root, "etc/unit") };
  for (const name of ["run", "etc"]) mkdirSync(join(root, name), { mode: 0o755 });
  assert.equal(systemSocket(places), undefined);
  writeFileSync(places.service, "");
  const expected = process.getuid?.() === 0 ? join(places.folder, "agents.sock") : undefined;
  // Installed, but not running: still no other socket.
  assert.equal(systemSocket(places), expected);
  rmSync(places.service);
  mkdirSync(places.folder);
  assert.equal(systemSocket(places), expected);
  // A folder in which an agent could have created it proves nothing.
  chmodSync(join(root, "run"), 0o777);
  assert.equal(systemSocket(places), undefined);
});

test("an unsupported configuration is rejected", () => {
  const fine = 'mode = "enforce"\n[listen] # ours\nagents = "127.0.0.1:1"\n[[x]]\nagents = "no"\n';
  assert.deepEqual(listenSettings(fine), { agents: "127.0.0.1:1" });
  const bad = [
    'listen = { socket = "/a" }',
    '[listen]\nsocket = "/a\\u0062"',
    '["listen"]\nagents = 1',
    'x = """\n[listen]\nsocket = "/a"\n"""',
  ];
  for (const one of bad) assert.throws(() => listenSettings(one), /COUNTERSIGN_AGENTS/, one);
});

test("a token file that others can read is rejected", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "csa_secret\n", { mode: 0o600 });
  const found = await resolveConnection({ tokenFile, agents: "127.0.0.1:1" });
  assert.equal(found.token, "csa_secret");
  chmodSync(tokenFile, 0o644);
  await assert.rejects(resolveConnection({ tokenFile, agents: "127.0.0.1:1" }), /chmod 600/);
  const injected = resolveConnection({ token: "a\r\nX: y", agents: "127.0.0.1:1" });
  await assert.rejects(injected, { kind: "input" });
});
