/** One HTTP exchange, bounded in size and time, over TCP or the socket. */

// Not fetch: it refuses port 6000, and cannot speak over a socket file.
import { request, type IncomingMessage } from "node:http";

import { authority, doorWords, type Door } from "./door.js";
import { Fault, type Problem } from "./errors.js";

/** The longest answer. */
const LONGEST = 64 << 20;
/** How long a daemon may take to take a connection, in milliseconds. */
const CONNECT = 5_000;

/** One question. */
export interface Exchange {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | undefined;
  readonly key?: string | undefined;
  /** How long the whole of it may take, in milliseconds. */
  readonly patience: number;
  readonly signal?: AbortSignal | undefined;
}

/** The JSON that was answered. Anything but a whole, plain answer is thrown as a `Fault`. */
export async function exchange(
  door: Door,
  token: string | undefined,
  asked: Exchange,
): Promise<unknown> {
  const { status, type, text } = await whole(door, token, asked);
  if (status >= 200 && status <= 204) return parsed(text);
  throw problem(status, type, text);
}

function whole(
  door: Door,
  token: string | undefined,
  asked: Exchange,
): Promise<{ status: number; type: string; text: string }> {
  return new Promise((resolve, reject) => {
    let sent = false;
    const lost = (why: string): Fault =>
      new Fault("unreachable", `${doorWords(door)} does not answer: ${why}`, { sent });
    const headers: Record<string, string | number> = {
      Host: authority(door),
      Accept: "application/json",
      Connection: "close",
    };
    if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
    if (asked.key !== undefined) headers["Idempotency-Key"] = asked.key;
    if (asked.body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Content-Length"] = Buffer.byteLength(asked.body);
    }
    const place =
      door.kind === "unix" ? { socketPath: door.path } : { host: door.host, port: door.port };
    const outgoing = request({
      ...place,
      method: asked.method,
      path: asked.path,
      headers,
      agent: false,
    });
    const end = (error: Fault): void => {
      reject(error);
      outgoing.destroy(error);
    };
    const patience = setTimeout(() => end(lost("no answer came in time")), asked.patience);
    const connecting = setTimeout(() => end(lost("it takes no connection")), CONNECT);
    const aborted = (): void => end(new Fault("aborted", "taken back by the caller", { sent }));
    const over = (): void => {
      clearTimeout(patience);
      clearTimeout(connecting);
      asked.signal?.removeEventListener("abort", aborted);
    };
    outgoing.on("socket", (socket) => {
      const connected = (): void => {
        clearTimeout(connecting);
        // From here on the question may have arrived.
        sent = true;
      };
      if (socket.connecting) socket.once("connect", connected);
      else connected();
    });
    outgoing.on("error", (error) => end(error instanceof Fault ? error : lost(error.message)));
    outgoing.on("close", over);
    outgoing.on("response", (incoming) => {
      read(incoming).then(resolve, (error: unknown) => {
        end(error instanceof Fault ? error : lost(error instanceof Error ? error.message : "?"));
      });
    });
    asked.signal?.addEventListener("abort", aborted, { once: true });
    if (asked.signal?.aborted === true) aborted();
    else outgoing.end(asked.body);
  });
}

async function read(
  incoming: IncomingMessage,
): Promise<{ status: number; type: string; text: string }> {
  const { headers } = incoming;
  // A body that ends when the connection does could be cut short by anybody.
  const saysItsLength =
    headers["content-length"] !== undefined || headers["transfer-encoding"] === "chunked";
  if (!saysItsLength && incoming.statusCode !== 204) {
    throw unexpected("it does not say how long it is");
  }
  if (headers["content-encoding"] !== undefined) {
    throw unexpected("it is encoded in a way that was not asked for");
  }
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > LONGEST) throw unexpected("it is too long");
    pieces.push(piece);
  }
  if (!incoming.complete) throw new Error("the connection broke");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch {
    throw unexpected("it is no text");
  }
  const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
  return { status: incoming.statusCode ?? 0, type: type.trim().toLowerCase(), text };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected("it is no JSON");
  }
}

/** The problem that an answer describes; one that describes none is not understood. */
function problem(status: number, type: string, text: string): Fault {
  const said =
    type === "application/problem+json" ? (parsed(text) as Partial<Problem> | null) : null;
  if (said?.status !== status || typeof said.detail !== "string" || said.detail === "") {
    return unexpected(`status ${status} without a reason`);
  }
  const kind = said.outcome === "unavailable" ? "unavailable" : "refused";
  return new Fault(kind, said.detail, { problem: said as Problem, sent: true });
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `the answer was not understood: ${what}`, { sent: true });
}
