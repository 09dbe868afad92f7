//! Which calls of a batch may run in parallel.

use countersign_json as json;
use countersign_risk::batch::plan_by;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;

use crate::agents::ProposedCall;
use crate::machine_look::AssessCall;

/// Indexes of calls that may run in parallel; one after the other if a call cannot be read. None if
/// this program cannot assess one of them.
pub fn stages(assess: AssessCall, calls: &[ProposedCall]) -> Option<Vec<Vec<usize>>> {
    let texts: Vec<String> = calls
        .iter()
        .map(|call| {
            let tool = serde_json::Value::from(call.tool.as_str());
            format!("{{\"tool\":{tool},\"arguments\":{}}}", call.arguments)
        })
        .collect();
    let values: Vec<_> = texts.iter().filter_map(|text| json::parse(text).ok()).collect();
    let read: Vec<_> = values.iter().filter_map(|value| Call::from_json(value).ok()).collect();
    if read.len() < calls.len() {
        return Some(in_order(calls));
    }
    let policy = Policy::default();
    plan_by(|call| assess(call, &policy).ok_or(()), &read).ok().map(|plan| plan.stages)
}

/// One call after the other.
pub fn in_order(calls: &[ProposedCall]) -> Vec<Vec<usize>> {
    (0..calls.len()).map(|at| vec![at]).collect()
}
