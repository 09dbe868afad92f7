/** A real daemon in a temporary folder, with a person who decides and an agent that asks. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { parseEndpoint } from "../src/endpoint.js";
import { exchange } from "../src/http.js";
import { Countersign, type RequestDocument } from "../src/index.js";

const BINARY = process.env["COUNTERSIGN_BINARY"] ?? "countersign";
const UNLIMITED = `[flood]
open_per_agent = 10000
asks_per_minute = 10000
asks_per_hour = 10000
denials = 10000
`;

/** Arguments of a call that needs a decision; each number is another call. */
export const risky = (number: number): { to: string; text: string } => ({
  to: "bo@example.org",
  text: `The report number ${number}.`,
});

/** A person's decision. */
export interface Answer {
  choice: "approve" | "deny";
  reason?: string;
  edited_arguments?: object;
}

/** The reported outcome of a call. */
export interface Reported {
  status: string;
  summary: string | null;
  exit_code?: number;
  duration_ms?: number;
  result_digest?: string;
}

export class TestDaemon {
  readonly folder = mkdtempSync(join(tmpdir(), "countersign-"));
  readonly socket = join(this.folder, "agents.sock");
  agents = "";
  people = "";
  token = "";
  /** The pin of the TLS key, if TLS is on. */
  pin = "";
  #peopleAt = "";
  #owner = "";
  #passphrase = "";
  #daemon: ChildProcess | undefined;

  /** A daemon that is stopped after the test. */
  static async open(
    test: { after: TestContext["after"] },
    settings = "",
    more = "",
  ): Promise<TestDaemon> {
    const daemon = new TestDaemon();
    test.after(() => daemon.close());
    const [agents, people] = [await freePort(), await freePort()];
    const listen = `[listen]\nagents = "127.0.0.1:${agents}"\npeople = "127.0.0.1:${people}"\n`;
    const socket = `socket = ${JSON.stringify(daemon.socket)}\n`;
    writeFileSync(daemon.config, `${settings}${listen}${socket}${more}${UNLIMITED}`);
    const passphrase = await daemon.start();
    const login = { name: "owner", passphrase, channel: "terminal" };
    daemon.#passphrase = String(passphrase);
    const entered = (await daemon.asOwner("POST", "/v1/login", login)) as { token: string };
    daemon.#owner = entered.token;
    daemon.token = await daemon.#agent({ name: "tester" });
    return daemon;
  }

  get config(): string {
    return join(this.folder, "countersign.toml");
  }

  /** The file with the daemon's public key. */
  get daemonKey(): string {
    return join(this.folder, "state", "daemon.pub");
  }

  /** The file with the daemon's TLS certificate. */
  get certificate(): string {
    return join(this.folder, "state", "tls.crt");
  }

  /** The agent. */
  client(): Countersign {
    return new Countersign({ agents: this.agents, token: this.token, daemonKey: this.daemonKey });
  }

  async start(): Promise<unknown> {
    const words = [
      "serve",
      "--json",
      "--print-passphrase",
      "--config",
      this.config,
      "--state",
      join(this.folder, "state"),
    ];
    const daemon = spawn(BINARY, words, { stdio: ["ignore", "pipe", "ignore"] });
    this.#daemon = daemon;
    for await (const line of createInterface({ input: daemon.stdout })) {
      const told = JSON.parse(line) as Record<string, string>;
      this.#peopleAt = told["people"] ?? "";
      this.pin = told["tls"] ?? "";
      const address = (at: string | undefined): string =>
        this.pin === "" ? (at ?? "") : `https://${at}#${this.pin}`;
      this.agents = address(told["agents"]);
      this.people = address(told["people"]);
      return told["passphrase"];
    }
    throw new Error("the daemon did not start");
  }

  /** Kills the daemon. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (daemon === undefined || daemon.exitCode !== null) return;
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
  }

  /** Stops the process: it accepts connections and does not respond. */
  async freeze(): Promise<void> {
    const daemon = this.#daemon;
    daemon?.kill("SIGSTOP");
    // Its threads stop one after another. Without /proc there is nothing to wait for.
    const tasks = `/proc/${String(daemon?.pid)}/task`;
    const runs = (task: string): boolean =>
      !readFileSync(`${tasks}/${task}/stat`, "utf8").includes(") T ");
    while (existsSync(tasks) && readdirSync(tasks).some(runs)) await pause(10);
  }

  thaw(): void {
    this.#daemon?.kill("SIGCONT");
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Adds the agent of this user, for the socket. */
  async knowUser(): Promise<void> {
    await this.#agent({ name: "by-user", uid: process.getuid?.() });
  }

  /** Adds an agent, confirmed with the owner's passphrase, and returns its token. */
  async #agent(said: object): Promise<string> {
    const proof = Buffer.from(this.#passphrase, "utf8").toString("base64url");
    const [host, port] = this.#peopleAt.split(":");
    const place = { host, port, method: "POST", path: "/v1/agents" };
    const headers = {
      Authorization: `Bearer ${this.#owner}`,
      "Content-Type": "application/json",
      "X-Countersign-Step-Up": `passphrase ${proof}`,
    };
    const ca = this.pin === "" ? undefined : readFileSync(this.certificate);
    const outgoing =
      ca === undefined ? request({ ...place, headers }) : requestTls({ ...place, headers, ca });
    outgoing.end(JSON.stringify(said));
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    const text = (await answer.toArray()).join("");
    if (answer.statusCode !== 201) throw new Error(`no agent: ${text}`);
    return (JSON.parse(text) as { token: string }).token;
  }

  /** A call of the people API as the owner. */
  async asOwner(method: "GET" | "POST", path: string, said?: object): Promise<unknown> {
    const token = this.#owner === "" ? undefined : this.#owner;
    const body = said === undefined ? undefined : JSON.stringify(said);
    return exchange(parseEndpoint(this.people), token, { method, path, body, patience: 10_000 });
  }

  /** All requests, newest first, as people see them. */
  async requests(): Promise<RequestDocument[]> {
    const page = (await this.asOwner("GET", "/v1/requests")) as { requests: RequestDocument[] };
    return page.requests;
  }

  /** The pending requests, when there are at least this many. */
  async waiting(count: number): Promise<RequestDocument[]> {
    for (let tries = 0; tries < 400; tries += 1) {
      const found = (await this.requests()).filter((request) => request.state === "pending");
      if (found.length >= count) return found;
      await pause(25);
    }
    throw new Error("no pending request");
  }

  /** Decides a request as the owner. */
  async decide(waiting: RequestDocument, said: Answer): Promise<void> {
    const body: Record<string, unknown> = { digest: waiting.digest, word: waiting.phrase, ...said };
    if (body["edited_arguments"] !== undefined) {
      // Approving an edit needs the digest from checking it.
      const edit = { digest: waiting.digest, edited_arguments: body["edited_arguments"] };
      const checked = await this.asOwner("POST", `/v1/requests/${waiting.id}/edit`, edit);
      const { digest, phrase } = checked as { digest: string; phrase: string };
      [body["edited_digest"], body["word"]] = [digest, phrase];
    }
    await this.asOwner("POST", `/v1/requests/${waiting.id}/decision`, body);
  }

  /** Waits for a pending request, decides it as the owner, and returns it. */
  async answer(said: Answer): Promise<RequestDocument> {
    const [waiting] = await this.waiting(1);
    if (waiting === undefined) throw new Error("no pending request");
    await this.decide(waiting, said);
    return waiting;
  }

  /** The outcome of a request, when it has been reported. */
  async reported(id: string | null): Promise<Reported> {
    for (let tries = 0; tries < 200; tries += 1) {
      const found = (await this.asOwner("GET", `/v1/requests/${id}`)) as RequestDocument;
      const reported = found["reported"] as Reported | null;
      if (reported !== null) return reported;
      await pause(25);
    }
    throw new Error("nothing was reported");
  }
}

export async function freePort(): Promise<number> {
  // Below the ports of outgoing connections, of which other tests open thousands: one of them could
  // take the port before the daemon does.
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
