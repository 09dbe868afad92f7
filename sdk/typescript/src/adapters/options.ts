/** Options of every adapter. */

import type { CallContext } from "../call.js";
import type { Countersign } from "../client.js";
import type { RequestDocument } from "../request.js";

/** Options of an adapter. */
export interface AdapterOptions extends Omit<CallContext, "description"> {
  /** The daemon; found as `countersign ask` finds it by default. */
  readonly client?: Countersign | undefined;
  /** Called once for each pending request. */
  readonly onWaiting?: ((request: RequestDocument) => void) | undefined;
  /** How long a call waits, in seconds; then the model is told to propose it again. */
  readonly patienceSeconds?: number | undefined;
}
