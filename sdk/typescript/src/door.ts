/** Where the daemon is: by option, environment or configuration, as `countersign ask` finds it. */

import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import { Fault } from "./errors.js";

/** A door of a daemon. */
export type Door =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** The variables of an environment. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** What may be said about how to reach the daemon. */
export interface Reach {
  /** The agents' door, such as `127.0.0.1:6000` or `unix:/path`; else `COUNTERSIGN_AGENTS`. */
  readonly agents?: string | undefined;
  /** The agent's token; else `COUNTERSIGN_AGENT_TOKEN`, else none. */
  readonly token?: string | undefined;
  /** A file with the agent's token that nobody else can read. */
  readonly tokenFile?: string | undefined;
  /** The environment to look into; else the process's own. */
  readonly variables?: Variables | undefined;
}

/** The agents' door and what an agent shows there. */
export function reach(given: Reach): { door: Door; token: string | undefined } {
  const variables = given.variables ?? process.env;
  const token =
    given.tokenFile === undefined
      ? (given.token ?? set(variables, "COUNTERSIGN_AGENT_TOKEN"))
      : secretFile(given.tokenFile);
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Fault("input", "the token holds a character it cannot");
  }
  const named = given.agents ?? set(variables, "COUNTERSIGN_AGENTS");
  if (named !== undefined) return { door: parseDoor(named), token };
  const places = folders(variables);
  const doors = written(places.config);
  // Over the socket the daemon knows its callers by itself.
  if (token === undefined && listen.socket !== "") {
    return {
      door: { kind: "unix", path: listen.socket ?? join(places.runtime, "agents.sock") },
      token,
    };
  }
  return { door: toSpeakTo(parseDoor(listen.agents ?? "127.0.0.1:6000")), token };
}

/** Reads `127.0.0.1:6000`, `http://127.0.0.1:6000`, `unix:/path` or `/path`. */
export function parseDoor(text: string): Door {
  const path = text.startsWith("/") ? text : /^unix:(?:\/\/)?(.*)$/s.exec(text)?.[1];
  if (path !== undefined) {
    if (isAbsolute(path)) return { kind: "unix", path };
    throw new Fault("input", `\`${text}\` does not name an absolute path`);
  }
  if (text.startsWith("https://")) {
    throw new Fault(
      "input",
      `\`${text}\`: this client speaks plain HTTP only; put a tunnel in between`,
    );
  }
  const parts = /^(?:http:\/\/)?([A-Za-z0-9._:[\]-]+):(\d{1,5})\/?$/.exec(text);
  const host = parts?.[1]?.replace(/^\[(.*)\]$/, "$1");
  const port = Number(parts?.[2]);
  if (host === undefined || host === "" || !(port <= 65535)) {
    throw new Fault("input", `\`${text}\` is no door such as 127.0.0.1:6000`);
  }
  return { kind: "tcp", host, port };
}

/** A door in words. */
export function doorWords(door: Door): string {
  return door.kind === "unix" ? `unix:${door.path}` : `http://${authority(door)}`;
}

/** What stands in the header `Host`. */
export function authority(door: Door): string {
  if (door.kind === "unix") return "localhost";
  return door.host.includes(":") ? `[${door.host}]:${door.port}` : `${door.host}:${door.port}`;
}

/** An address to listen on, as one to speak to. */
function toSpeakTo(door: Door): Door {
  if (door.kind !== "tcp") return door;
  if (door.port === 0) {
    throw new Fault(
      "input",
      "the configuration takes any free port: say which one with COUNTERSIGN_AGENTS",
    );
  }
  const here: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return { ...door, host: here[door.host] ?? door.host };
}

function set(variables: Variables, name: string): string | undefined {
  const value = variables[name];
  return value === "" ? undefined : value;
}

function folders(variables: Variables): { config: string; runtime: string } {
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
  return { config, runtime: usesRuntime ? join(runtime, "countersign") : state };
}

/** The two doors of a configuration file; a file that is not there says nothing. */
function written(config: string): { agents?: string; socket?: string } {
  let text: string;
  try {
    text = readFileSync(config, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new Fault("input", `${config}: ${error instanceof Error ? error.message : error}`);
  }
  return doorsIn(text, config);
}

/**
 * Reads `[listen]` from TOML. This knows plain lines only; where a file writes its doors in some
 * other way it is not guessed at.
 */
export function doorsIn(
  text: string,
  config = "countersign.toml",
): { agents?: string; socket?: string } {
  const unclear = (line: number, what: string): Fault =>
    new Fault(
      "input",
      `${config}:${line}: ${what}; say where the daemon is with COUNTERSIGN_AGENTS`,
    );
  const found: { agents?: string; socket?: string } = {};
  let table = "";
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/"""|'''/.test(line)) throw unclear(index + 1, "texts of several lines are not read here");
    const header = /^\s*\[{1,2}\s*([^[\]]*?)\s*\]{1,2}\s*(?:#.*)?$/.exec(line)?.[1];
    if (header !== undefined) {
      table = header.replace(/["'\s]/g, "");
      continue;
    }
    const parts = /^\s*([A-Za-z0-9_."' -]+?)\s*=\s*(.*)$/.exec(line);
    if (parts === null) continue;
    const [, key = "", value = ""] = parts;
    const whole = `${table}.${key}`.replace(/["'\s]/g, "").replace(/^\./, "");
    if (whole === "doors") throw unclear(index + 1, "`doors` in one line is not read here");
    if (whole !== "listen.agents" && whole !== "listen.socket") continue;
    const plain = /^(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$/.exec(value);
    if (plain === null) throw unclear(index + 1, `\`${whole}\` is no plain text`);
    const name = whole === "listen.agents" ? "agents" : "socket";
    found[name] = plain[1] ?? plain[2] ?? "";
  }
  return found;
}

/** A secret from a file that nobody else can read. */
function secretFile(name: string): string {
  let token: string;
  try {
    if ((statSync(name).mode & 0o077) !== 0) {
      throw new Error("others can read this secret: chmod 600 it");
    }
    token = readFileSync(name, "utf8").trim();
  } catch (error) {
    throw new Fault("input", `${name}: ${error instanceof Error ? error.message : error}`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Fault("input", `${name}: this is no token`);
  return token;
}
