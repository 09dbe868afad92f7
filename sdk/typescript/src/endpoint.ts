/** Finds the address of the daemon: by option, environment or configuration, as `countersign ask`. */

import { readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { dirname, isAbsolute, join } from "node:path";

import { Fault } from "./errors.js";

/** The address of one of the daemon's APIs. */
export type Endpoint =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | TlsEndpoint
  | { readonly kind: "unix"; readonly path: string };

/** An address that is reached over HTTPS. */
export interface TlsEndpoint {
  readonly kind: "tls";
  readonly host: string;
  readonly port: number;
  /** `sha256:` and the pin of the daemon's key, or `ca:` and the path of a CA file. */
  readonly trust: string;
}

/** Environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** How to reach the daemon. */
export interface ConnectionOptions {
  /** The agent API, such as `127.0.0.1:6000` or `unix:/path`; else `COUNTERSIGN_AGENTS`. */
  readonly agents?: string | undefined;
  /** The agent's token; else `COUNTERSIGN_AGENT_TOKEN`, else none. */
  readonly token?: string | undefined;
  /** A file with the agent's token that only its owner can read. */
  readonly tokenFile?: string | undefined;
  /**
   * The file with the daemon's public key; else the key that `countersign serve` or
   * `countersign keys trust` wrote for this user. A response that it did not sign is refused.
   */
  readonly daemonKey?: string | undefined;
  /** The environment to use; else that of the process. */
  readonly variables?: Variables | undefined;
}

const SOCKET_NAME = "agents.sock";
const MACOS = process.platform === "darwin";
/**
 * The folder of the socket of a system service, and the file that starts the service. Only root can
 * create them.
 */
const SYSTEM: SystemPlaces = {
  folder: MACOS ? "/var/db/countersign-run" : "/run/countersign",
  service: MACOS
    ? "/Library/LaunchDaemons/countersign.daemon.plist"
    : "/etc/systemd/system/countersign.service",
};
/** Time to connect to a socket, in milliseconds; a socket is on this machine. */
const CONNECT = 1_000;

/** The agent API and the agent's token. */
export async function resolveConnection(
  given: ConnectionOptions,
): Promise<{ endpoint: Endpoint; token: string | undefined }> {
  const variables = given.variables ?? process.env;
  const token =
    given.tokenFile === undefined
      ? (given.token ?? set(variables, "COUNTERSIGN_AGENT_TOKEN"))
      : secretFile(given.tokenFile);
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Fault("input", "the token contains an invalid character");
  }
  const named = given.agents ?? set(variables, "COUNTERSIGN_AGENTS");
  if (named !== undefined) return { endpoint: parseEndpoint(named), token };
  const isNamed = ["COUNTERSIGN_STATE", "COUNTERSIGN_CONFIG"].some(
    (name) => set(variables, name) !== undefined,
  );
  const system = isNamed ? undefined : systemSocket(SYSTEM);
  if (token === undefined && system !== undefined) {
    return { endpoint: { kind: "unix", path: system }, token };
  }
  const places = folders(variables);
  const listen = readListen(places.config);
  // Over the socket the daemon identifies callers by their user.
  if (token === undefined && listen.socket !== "") {
    const path = listen.socket ?? (await defaultSocket(variables, places));
    return { endpoint: { kind: "unix", path }, token };
  }
  const address = listen.agents ?? "127.0.0.1:6000";
  if (listen.tls === true) {
    throw new Fault(
      "input",
      `the configuration turns TLS on; set COUNTERSIGN_AGENTS to https://${address}#sha256:… ` +
        "(`countersign keys tls` prints the pin)",
    );
  }
  return { endpoint: connectable(parseEndpoint(address)), token };
}

/**
 * The socket of a daemon without a configured socket. Some hosts start programs without
 * `XDG_RUNTIME_DIR`, while the daemon had it; so the user's runtime folder and the state folder are
 * tried as well. A state folder that was named explicitly has the only socket.
 */
async function defaultSocket(variables: Variables, places: Folders): Promise<string> {
  const expected = join(places.runtime, SOCKET_NAME);
  const uid = process.getuid?.();
  if (set(variables, "COUNTERSIGN_STATE") !== undefined || uid === undefined) return expected;
  const runtime = join(`/run/user/${uid}/countersign`, SOCKET_NAME);
  return firstOpen(expected, [runtime, join(places.state, SOCKET_NAME)], uid);
}

/** Where a system service is seen. */
export interface SystemPlaces {
  folder: string;
  service: string;
}

/**
 * The socket of a system service, if one is installed, whether it runs or not. No other socket takes
 * its place: an agent could serve one wherever its user may write.
 */
export function systemSocket(places: SystemPlaces): string | undefined {
  const installed = [places.folder, places.service].some((path) => {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    const parent = statSync(dirname(path));
    return parent.uid === 0 && (parent.mode & 0o022) === 0;
  });
  return installed ? join(places.folder, SOCKET_NAME) : undefined;
}

/**
 * The first socket that accepts connections, else the expected one. The alternatives must belong to
 * this user.
 */
export async function firstOpen(
  expected: string,
  alternatives: readonly string[],
  uid: number,
): Promise<string> {
  if (await accepts(expected)) return expected;
  for (const path of alternatives) {
    if (statSync(path, { throwIfNoEntry: false })?.uid === uid && (await accepts(path)))
      return path;
  }
  return expected;
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.setTimeout(CONNECT, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

/**
 * Parses `127.0.0.1:6000`, `http://127.0.0.1:6000`, `https://HOST:6000#TRUST`, `unix:/path` or
 * `/path`.
 */
export function parseEndpoint(text: string): Endpoint {
  const path = text.startsWith("/") ? text : /^unix:(?:\/\/)?(.*)$/s.exec(text)?.[1];
  if (path !== undefined) {
    if (isAbsolute(path)) return { kind: "unix", path };
    throw new Fault("input", `\`${text}\` is not an absolute path`);
  }
  const secured = /^https:\/\/([^#]*)(?:#(.*))?$/s.exec(text);
  const trust = secured?.[2] ?? "";
  if (secured !== null && !/^(?:sha256:[0-9a-f]{64}|ca:\/[^\0]*)$/.test(trust)) {
    throw new Fault(
      "input",
      `\`${text}\`: an https address names the daemon's key or a CA file behind #, for example ` +
        "https://gate.example.org:6000#sha256:… (`countersign keys tls` prints it) or " +
        "https://gate.example.org:6000#ca:/etc/ssl/certs/ca-certificates.crt",
    );
  }
  const rest = secured?.[1] ?? text.replace(/^http:\/\//, "");
  const parts = /^([A-Za-z0-9._:[\]-]+):(\d{1,5})\/?$/.exec(rest);
  const host = parts?.[1]?.replace(/^\[(.*)\]$/, "$1");
  const port = Number(parts?.[2]);
  if (host === undefined || host === "" || !(port <= 65535)) {
    throw new Fault("input", `invalid address \`${text}\`; expected for example 127.0.0.1:6000`);
  }
  return secured === null ? { kind: "tcp", host, port } : { kind: "tls", host, port, trust };
}

/** An endpoint as text. */
export function endpointText(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return `unix:${endpoint.path}`;
  return `${endpoint.kind === "tls" ? "https" : "http"}://${authority(endpoint)}`;
}

/** The value of the `Host` header. */
export function authority(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return "localhost";
  return endpoint.host.includes(":")
    ? `[${endpoint.host}]:${endpoint.port}`
    : `${endpoint.host}:${endpoint.port}`;
}

/** Turns an address to listen on into one to connect to. */
function connectable(endpoint: Endpoint): Endpoint {
  if (endpoint.kind !== "tcp") return endpoint;
  if (endpoint.port === 0) {
    throw new Fault("input", "the configuration uses a random port; set COUNTERSIGN_AGENTS");
  }
  const here: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return { ...endpoint, host: here[endpoint.host] ?? endpoint.host };
}

function set(variables: Variables, name: string): string | undefined {
  const value = variables[name];
  return value === "" ? undefined : value;
}

interface Folders {
  readonly config: string;
  readonly runtime: string;
  readonly state: string;
}

function folders(variables: Variables): Folders {
  const folder = (name: string, belowHome: string): string => {
    const named = set(variables, name);
    if (named !== undefined && isAbsolute(named)) return named;
    return join(set(variables, "HOME") ?? "/", belowHome);
  };
  const ownState = set(variables, "COUNTERSIGN_STATE");
  const state = ownState ?? join(folder("XDG_STATE_HOME", ".local/state"), "countersign");
  const config =
    set(variables, "COUNTERSIGN_CONFIG") ??
    join(folder("XDG_CONFIG_HOME", ".config"), "countersign/countersign.toml");
  const runtime = set(variables, "XDG_RUNTIME_DIR");
  const usesRuntime = runtime !== undefined && isAbsolute(runtime) && ownState === undefined;
  return { config, runtime: usesRuntime ? join(runtime, "countersign") : state, state };
}

/** The settings of `[listen]` that clients use. */
interface ListenSettings {
  agents?: string;
  socket?: string;
  tls?: boolean;
}

/** The listen addresses of a configuration file; a missing file has none. */
function readListen(config: string): ListenSettings {
  let text: string;
  try {
    text = readFileSync(config, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new Fault("input", `${config}: ${error instanceof Error ? error.message : error}`);
  }
  return listenSettings(text, config);
}

/**
 * Reads `[listen]` from TOML. It knows only simple lines; other forms of these keys are an error.
 */
export function listenSettings(
  text: string,
  config = "countersign.toml",
): ListenSettings {
  const unclear = (line: number, what: string): Fault =>
    new Fault("input", `${config}:${line}: ${what}; set COUNTERSIGN_AGENTS`);
  const found: ListenSettings = {};
  let table = "";
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/"""|'''/.test(line)) throw unclear(index + 1, "multi-line strings are not supported here");
    const header = /^\s*\[{1,2}\s*([^[\]]*?)\s*\]{1,2}\s*(?:#.*)?$/.exec(line)?.[1];
    if (header !== undefined) {
      table = header.replace(/["'\s]/g, "");
      continue;
    }
    const parts = /^\s*([A-Za-z0-9_."' -]+?)\s*=\s*(.*)$/.exec(line);
    if (parts === null) continue;
    const [, key = "", value = ""] = parts;
    const whole = `${table}.${key}`.replace(/["'\s]/g, "").replace(/^\./, "");
    if (whole === "listen")
      throw unclear(index + 1, "`listen` as an inline table is not supported here");
    if (whole === "listen.tls") found.tls = !/^false\b/.test(value);
    if (whole !== "listen.agents" && whole !== "listen.socket") continue;
    const plain = /^(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$/.exec(value);
    if (plain === null) throw unclear(index + 1, `\`${whole}\` is not a simple string`);
    const name = whole === "listen.agents" ? "agents" : "socket";
    found[name] = plain[1] ?? plain[2] ?? "";
  }
  return found;
}

/** Reads a secret from a file that only its owner can read. */
function secretFile(name: string): string {
  let token: string;
  try {
    if ((statSync(name).mode & 0o077) !== 0) {
      throw new Error("other users can read this file; run chmod 600");
    }
    token = readFileSync(name, "utf8").trim();
  } catch (error) {
    throw new Fault("input", `${name}: ${error instanceof Error ? error.message : error}`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Fault("input", `${name}: invalid token`);
  return token;
}
