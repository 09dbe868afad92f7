/** What every adapter may be told. */

import type { Surroundings } from "../call.js";
import type { Countersign } from "../client.js";
import type { RequestDocument } from "../request.js";

/** How an adapter asks. */
export interface AdapterOptions extends Omit<Surroundings, "description"> {
  /** The daemon; found as `countersign ask` finds it if nothing is said. */
  readonly client?: Countersign | undefined;
  /** Called once for each call that waits for a person. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /** How long a call waits here, in seconds; then the model is told to propose it again. */
  readonly patienceSeconds?: number | undefined;
}
