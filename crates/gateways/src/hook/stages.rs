//! Which calls of a batch may run in parallel.

use countersign_json as json;
use countersign_risk::batch::plan;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;

use crate::agents::ProposedCall;

/// Indexes of calls that may run in parallel; one after the other if a call cannot be read.
pub fn stages(calls: &[ProposedCall]) -> Vec<Vec<usize>> {
    let texts: Vec<String> = calls
        .iter()
        .map(|call| {
            let tool = serde_json::Value::from(call.tool.as_str());
            format!("{{\"tool\":{tool},\"arguments\":{}}}", call.arguments)
        })
        .collect();
    let values: Vec<_> = texts.iter().filter_map(|text| json::parse(text).ok()).collect();
    let read: Vec<_> = values.iter().filter_map(|value| Call::from_json(value).ok()).collect();
    if read.len() == calls.len() {
        plan(&read, &Policy::default()).stages
    } else {
        (0..calls.len()).map(|at| vec![at]).collect()
    }
}
