//! Where a proposed call would run, for the look at this machine.

use crate::agents::ProposedCall;
use crate::machine_look::LookedAt;

/// Where a call would run.
pub fn looked_at(call: &ProposedCall) -> LookedAt<'_> {
    LookedAt {
        tool: &call.tool,
        arguments: &call.arguments,
        cwd: call.cwd.as_deref(),
        project: call.project.as_deref(),
        host: call.host,
    }
}
