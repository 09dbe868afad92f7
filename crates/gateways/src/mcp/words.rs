//! What the proxy itself says to a client: results that a model understands, errors, notices.

use serde_json::{Value, json};

/// Why a call did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct No {
    /// `denied`, `expired`, `cancelled`, `unavailable` or `pending`.
    pub status: &'static str,
    /// For the model.
    pub why: String,
    /// The request, where there is one.
    pub request: Option<String>,
}

impl No {
    /// Without a request.
    pub fn new(status: &'static str, why: impl Into<String>) -> No {
        No { status, why: why.into(), request: None }
    }
}

/// A result that says no, in the client's era.
pub fn result(no: &No, modern: bool) -> Value {
    let mut result = json!({
        "content": [{ "type": "text", "text": no.why }],
        "isError": true,
        "_meta": { "dev.countersign/decision": { "status": no.status, "approvalId": no.request } },
    });
    if let (true, Some(members)) = (modern, result.as_object_mut()) {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    result
}

/// The answer to a request whose id is written so.
pub fn answer(id: &str, result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// An error in place of an answer.
pub fn error(id: &str, code: i32, why: &str) -> String {
    let error = json!({ "code": code, "message": format!("Countersign: {why}") });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// No server's own code: those of the protocol lie above.
const REFUSED: i32 = -31_000;

/// The answer to a request that does not run: a tool's result, or an error for what is no tool.
pub fn refusal(id: &str, no: &No, modern: bool, is_look: bool) -> String {
    if is_look { error(id, REFUSED, &no.why) } else { answer(id, &result(no, modern)) }
}

/// A notice of progress; `thousandths` only ever grows.
pub fn progress(token: &str, thousandths: u32, message: &str) -> String {
    let value = f64::from(thousandths) / 1000.0;
    let message = Value::from(message);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
         {{\"progressToken\":{token},\"progress\":{value},\"message\":{message}}}}}"
    )
}

/// What a denied call is answered with.
pub fn denied(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!(
        "Denied by a human reviewer{why}. Do not retry or work around this; ask the user how to go on."
    )
}

/// What a call is answered with that nobody has decided yet.
pub fn pending(reference: &str) -> String {
    format!(
        "Not run yet: this call still waits for a person's approval (reference {reference}). \
         Tell the user, and repeat the identical call to go on waiting; nothing else will run it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_is_a_tool_result_in_the_shape_of_each_era() {
        let no = No { request: Some("R1".to_owned()), ..No::new("denied", denied("too risky.")) };
        let modern = answer("7", &result(&no, true));
        let modern: Value = serde_json::from_str(&modern).unwrap();
        assert_eq!(modern["id"], 7);
        assert_eq!(modern["result"]["resultType"], "complete");
        assert_eq!(modern["result"]["isError"], true);
        let text = modern["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Denied by a human reviewer: too risky. Do not retry"), "{text}");
        let decision = &modern["result"]["_meta"]["dev.countersign/decision"];
        assert_eq!(
            (&decision["status"], &decision["approvalId"]),
            (&json!("denied"), &json!("R1"))
        );
        assert!(result(&no, false).get("resultType").is_none());
        assert!(result(&no, true).get("structuredContent").is_none());
    }

    #[test]
    fn progress_grows_by_thousandths() {
        let notice: Value = serde_json::from_str(&progress("\"t\"", 12, "waits")).unwrap();
        assert_eq!(notice["params"]["progress"], 0.012);
        assert_eq!(notice["params"]["progressToken"], "t");
    }
}
