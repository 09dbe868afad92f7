/** One HTTP exchange, bounded in size and time, over TCP or the socket. */

import type { KeyObject } from "node:crypto";
// Not fetch: it rejects port 6000 and does not support Unix sockets.
import { request, type IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

import { checkResponse, newNonce } from "./daemon-key.js";
import { authority, endpointText, type Endpoint, type TlsEndpoint } from "./endpoint.js";
import { Fault, type Problem } from "./errors.js";
import { connectTls } from "./tls.js";

/** The longest response, in bytes. */
const LONGEST = 64 << 20;
/** Timeout of the connection, in milliseconds. */
const CONNECT = 5_000;

/** One HTTP request. */
export interface Exchange {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | undefined;
  readonly key?: string | undefined;
  /** Timeout of the whole exchange, in milliseconds. */
  readonly patience: number;
  readonly signal?: AbortSignal | undefined;
}

/** One whole HTTP response. */
interface WholeResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly signature: string | undefined;
}

/**
 * The JSON of the response. An incomplete or invalid response is thrown as a `Fault`, and so is one
 * that the daemon's key did not sign. Without a key any daemon may answer: only for responses that
 * let nothing run.
 */
export async function exchange(
  endpoint: Endpoint,
  token: string | undefined,
  asked: Exchange,
  key?: () => KeyObject,
): Promise<unknown> {
  const nonce = newNonce();
  const { status, type, text, signature } = await whole(endpoint, token, asked, nonce);
  if (status < 200 || status > 204) throw problem(status, type, text);
  if (key !== undefined) {
    const signed = {
      nonce,
      method: asked.method,
      target: asked.path,
      credential: token === undefined ? "" : `Bearer ${token}`,
      request: asked.body ?? "",
      status,
      response: text,
    };
    checkResponse(key(), signed, signature);
  }
  return parsed(text);
}

async function whole(
  endpoint: Endpoint,
  token: string | undefined,
  asked: Exchange,
  nonce: string,
): Promise<WholeResponse> {
  if (endpoint.kind !== "tls") return transfer(endpoint, token, asked, nonce);
  const started = Date.now();
  const socket = await secured(endpoint, asked);
  const patience = Math.max(asked.patience - (Date.now() - started), 1);
  return transfer(endpoint, token, { ...asked, patience }, nonce, socket);
}

/** A connection whose other end has proved its certificate, in time. */
function secured(endpoint: TlsEndpoint, asked: Exchange): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (error: Fault): void => {
      isOver = true;
      clearTimeout(timer);
      asked.signal?.removeEventListener("abort", aborted);
      reject(error);
    };
    const lost = (why: string): Fault =>
      new Fault("unreachable", `${endpointText(endpoint)} does not answer: ${why}`);
    const aborted = (): void => end(new Fault("aborted", "cancelled by the caller"));
    const limit = Math.min(CONNECT, asked.patience);
    const timer = setTimeout(() => end(lost("the connection timed out")), limit);
    asked.signal?.addEventListener("abort", aborted, { once: true });
    if (asked.signal?.aborted === true) aborted();
    connectTls(endpoint).then(
      (socket) => {
        // A connection that comes too late is not used.
        if (isOver) socket.destroy();
        clearTimeout(timer);
        asked.signal?.removeEventListener("abort", aborted);
        resolve(socket);
      },
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        end(error instanceof Fault ? error : lost(why));
      },
    );
  });
}

function transfer(
  endpoint: Endpoint,
  token: string | undefined,
  asked: Exchange,
  nonce: string,
  socket?: TLSSocket,
): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    let sent = false;
    const lost = (why: string): Fault =>
      new Fault("unreachable", `${endpointText(endpoint)} does not answer: ${why}`, { sent });
    const headers: Record<string, string | number> = {
      Host: authority(endpoint),
      Accept: "application/json",
      Connection: "close",
      "Countersign-Nonce": nonce,
    };
    if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
    if (asked.key !== undefined) headers["Idempotency-Key"] = asked.key;
    if (asked.body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Content-Length"] = Buffer.byteLength(asked.body);
    }
    const place =
      endpoint.kind === "unix"
        ? { socketPath: endpoint.path, agent: false }
        : { host: endpoint.host, port: endpoint.port, agent: false };
    // Only without an agent is the given connection used.
    const route = socket === undefined ? place : { createConnection: () => socket };
    const outgoing = request({ ...route, method: asked.method, path: asked.path, headers });
    const end = (error: Fault): void => {
      reject(error);
      outgoing.destroy(error);
    };
    const patience = setTimeout(() => end(lost("timed out")), asked.patience);
    const connecting = setTimeout(() => end(lost("the connection timed out")), CONNECT);
    const aborted = (): void => end(new Fault("aborted", "cancelled by the caller", { sent }));
    const over = (): void => {
      clearTimeout(patience);
      clearTimeout(connecting);
      asked.signal?.removeEventListener("abort", aborted);
    };
    outgoing.on("socket", (socket) => {
      const connected = (): void => {
        clearTimeout(connecting);
        // From here on the request may have arrived.
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

async function read(incoming: IncomingMessage): Promise<WholeResponse> {
  const { headers } = incoming;
  // A body that ends with the connection could be truncated without notice.
  const hasLength =
    headers["content-length"] !== undefined || headers["transfer-encoding"] === "chunked";
  if (!hasLength && incoming.statusCode !== 204) {
    throw unexpected("the length of the body is missing");
  }
  if (headers["content-encoding"] !== undefined) {
    throw unexpected("unsupported encoding");
  }
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > LONGEST) throw unexpected("the body is too long");
    pieces.push(piece);
  }
  if (!incoming.complete) throw new Error("the connection broke");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch {
    throw unexpected("the body is not UTF-8");
  }
  const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
  const found = headers["countersign-signature"];
  const signature = Array.isArray(found) ? found.join() : found;
  return { status: incoming.statusCode ?? 0, type: type.trim().toLowerCase(), text, signature };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected("the body is not JSON");
  }
}

/** The problem in an error response; without a problem document it is unexpected. */
function problem(status: number, type: string, text: string): Fault {
  const said =
    type === "application/problem+json" ? (parsed(text) as Partial<Problem> | null) : null;
  if (said?.status !== status || typeof said.detail !== "string" || said.detail === "") {
    return unexpected(`status ${status} without a problem document`);
  }
  const kind = said.outcome === "unavailable" ? "unavailable" : "refused";
  return new Fault(kind, said.detail, { problem: said as Problem, sent: true });
}

function unexpected(what: string): Fault {
  return new Fault("unexpected", `unexpected response from the daemon: ${what}`, { sent: true });
}
