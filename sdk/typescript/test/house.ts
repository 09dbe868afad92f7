/** A real daemon in a folder of its own, with a person who answers and an agent that asks. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { parseDoor } from "../src/door.js";
import { exchange } from "../src/http.js";
import { Countersign, type RequestDocument } from "../src/index.js";

const BINARY = process.env["COUNTERSIGN_BINARY"] ?? "countersign";
const OPEN_HOUSE = `[flood]
open_per_agent = 10000
asks_per_minute = 10000
asks_per_hour = 10000
denials = 10000
`;

/** A message that a person has to be asked about; each number is another one. */
export const risky = (number: number): { to: string; text: string } => ({
  to: "bo@example.org",
  text: `The report number ${number}.`,
});

/** How a person answers. */
export interface Answer {
  choice: "approve" | "deny";
  reason?: string;
  edited_arguments?: object;
}

/** What an agent said came of a call. */
export interface Reported {
  status: string;
  summary: string | null;
  exit_code?: number;
  duration_ms?: number;
  result_digest?: string;
}

export class House {
  readonly folder = mkdtempSync(join(tmpdir(), "countersign-"));
  readonly socket = join(this.folder, "agents.sock");
  agents = "";
  people = "";
  token = "";
  #owner = "";
  #passphrase = "";
  #daemon: ChildProcess | undefined;

  /** A house that is torn down after the test. */
  static async open(test: { after: TestContext["after"] }, settings = ""): Promise<House> {
    const house = new House();
    test.after(() => house.close());
    const [agents, people] = [await freePort(), await freePort()];
    const doors = `[listen]\nagents = "127.0.0.1:${agents}"\npeople = "127.0.0.1:${people}"\n`;
    const socket = `socket = ${JSON.stringify(house.socket)}\n`;
    writeFileSync(house.config, `${settings}${doors}${socket}${OPEN_HOUSE}`);
    const passphrase = await house.start();
    const login = { name: "owner", passphrase, channel: "terminal" };
    house.#passphrase = String(passphrase);
    const entered = (await house.asOwner("POST", "/v1/login", login)) as { token: string };
    house.#owner = entered.token;
    house.token = await house.#agent({ name: "tester" });
    return house;
  }

  get config(): string {
    return join(this.folder, "countersign.toml");
  }

  /** The agent. */
  client(): Countersign {
    return new Countersign({ agents: this.agents, token: this.token });
  }

  async start(): Promise<unknown> {
    const words = [
      "serve",
      "--json",
      "--config",
      this.config,
      "--state",
      join(this.folder, "state"),
    ];
    const daemon = spawn(BINARY, words, { stdio: ["ignore", "pipe", "ignore"] });
    this.#daemon = daemon;
    for await (const line of createInterface({ input: daemon.stdout })) {
      const told = JSON.parse(line) as Record<string, string>;
      this.agents = told["agents"] ?? "";
      this.people = told["people"] ?? "";
      return told["passphrase"];
    }
    throw new Error("the daemon did not start");
  }

  /** Ends the daemon without a word. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (daemon === undefined || daemon.exitCode !== null) return;
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
  }

  /** Stops its heart: it takes connections and says nothing. */
  freeze(): void {
    this.#daemon?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#daemon?.kill("SIGCONT");
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Adds the agent that the socket knows by its user. */
  async knowUser(): Promise<void> {
    await this.#agent({ name: "by-user", uid: process.getuid?.() });
  }

  /** Adds an agent, confirmed with the owner's passphrase, and returns its token. */
  async #agent(said: object): Promise<string> {
    const proof = Buffer.from(this.#passphrase, "utf8").toString("base64url");
    const answer = await fetch(`http://${this.people}/v1/agents`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.#owner}`,
        "Content-Type": "application/json",
        "X-Countersign-Step-Up": `passphrase ${proof}`,
      },
      body: JSON.stringify(said),
    });
    if (answer.status !== 201) throw new Error(`no agent: ${await answer.text()}`);
    return ((await answer.json()) as { token: string }).token;
  }

  /** At the people's door. */
  async asOwner(method: "GET" | "POST", path: string, said?: object): Promise<unknown> {
    const token = this.#owner === "" ? undefined : this.#owner;
    const body = said === undefined ? undefined : JSON.stringify(said);
    return exchange(parseDoor(this.people), token, { method, path, body, patience: 10_000 });
  }

  /** Everything that was ever asked, newest first, as people read it. */
  async requests(): Promise<RequestDocument[]> {
    const page = (await this.asOwner("GET", "/v1/requests")) as { requests: RequestDocument[] };
    return page.requests;
  }

  /** What waits for a person, once there are so many. */
  async waiting(count: number): Promise<RequestDocument[]> {
    for (let tries = 0; tries < 400; tries += 1) {
      const found = (await this.requests()).filter((request) => request.state === "pending");
      if (found.length >= count) return found;
      await pause(25);
    }
    throw new Error("nothing waits for an answer");
  }

  /** A person answers. */
  async decide(waiting: RequestDocument, said: Answer): Promise<void> {
    const body: Record<string, unknown> = { digest: waiting.digest, word: waiting.phrase, ...said };
    if (body["edited_arguments"] !== undefined) {
      // An edit is approved as it was checked.
      const edit = { digest: waiting.digest, edited_arguments: body["edited_arguments"] };
      const checked = await this.asOwner("POST", `/v1/requests/${waiting.id}/edit`, edit);
      const { digest, phrase } = checked as { digest: string; phrase: string };
      [body["edited_digest"], body["word"]] = [digest, phrase];
    }
    await this.asOwner("POST", `/v1/requests/${waiting.id}/decision`, body);
  }

  /** Waits until something waits, answers it as a person, and says what it was. */
  async answer(said: Answer): Promise<RequestDocument> {
    const [waiting] = await this.waiting(1);
    if (waiting === undefined) throw new Error("nothing waits for an answer");
    await this.decide(waiting, said);
    return waiting;
  }

  /** One request as people read it, once it has been reported on. */
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
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
