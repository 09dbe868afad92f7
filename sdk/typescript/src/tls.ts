/** TLS to the daemon: a pinned key, or the authorities in a file. Nothing is accepted unchecked. */

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";

import { endpointText, type TlsEndpoint } from "./endpoint.js";
import { Fault } from "./errors.js";

/**
 * Connects; the other end has proved its certificate when the socket is there, and nothing was sent
 * before.
 */
export function connectTls(endpoint: TlsEndpoint): Promise<TLSSocket> {
  const { host, port, trust } = endpoint;
  const pin = trust.startsWith("sha256:") ? trust : undefined;
  return new Promise((resolve, reject) => {
    const ca = pin === undefined ? authorities(trust.replace(/^ca:/, "")) : undefined;
    const socket = connect({
      host,
      port,
      minVersion: "TLSv1.3",
      ALPNProtocols: ["http/1.1"],
      // Node knows no pins: `refusedKey` compares the key. Otherwise no variable turns checking off.
      rejectUnauthorized: pin === undefined,
      ...(ca === undefined ? {} : { ca }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      const isRefused = error.code !== undefined && CERTIFICATE_ERROR.test(error.code);
      reject(isRefused ? refused(endpoint, error.message) : error);
    });
    socket.once("secureConnect", () => {
      const why = pin === undefined ? undefined : refusedKey(socket, pin);
      if (why === undefined) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(refused(endpoint, why));
    });
  });
}

/** Codes of Node for a certificate that OpenSSL or the host name check refused. */
const CERTIFICATE_ERROR = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO/;

function refusedKey(socket: TLSSocket, pin: string): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return "there is none";
  const key = certificate.publicKey.export({ type: "spki", format: "der" });
  if (`sha256:${createHash("sha256").update(key).digest("hex")}` !== pin) {
    return "it has another key than the pinned one";
  }
  const now = Date.now();
  // A date that is not understood is not valid.
  if (!(now >= Date.parse(certificate.validFrom))) return "it is not valid yet";
  if (!(now <= Date.parse(certificate.validTo))) return "it has expired";
  return undefined;
}

/** The authorities in a file. A file that another user can change vouches for nothing. */
function authorities(file: string): Buffer {
  try {
    const found = statSync(file);
    const owners = [0, process.getuid?.() ?? found.uid];
    if ((found.mode & 0o022) !== 0 || !owners.includes(found.uid)) {
      throw new Error("other users can change this file; run chmod 644 and chown");
    }
    return readFileSync(file);
  } catch (error) {
    throw new Fault("input", `${file}: ${error instanceof Error ? error.message : error}`);
  }
}

function refused(endpoint: TlsEndpoint, why: string): Fault {
  return new Fault(
    "untrusted",
    `the certificate of ${endpointText(endpoint)} is refused: ${why}; nothing was sent to it. ` +
      "`countersign keys tls` on the daemon's machine prints the pin that belongs into the address",
  );
}
