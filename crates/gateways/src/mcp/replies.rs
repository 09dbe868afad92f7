//! What the proxy itself sends to a client: results that a model understands, errors, progress.

use serde_json::{Value, json};

/// Why a call did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRefusal {
    /// `denied`, `expired`, `cancelled`, `unavailable` or `pending`.
    pub status: &'static str,
    /// The reason, written for the model.
    pub message: String,
    /// The request, if there is one.
    pub request: Option<String>,
}

impl CallRefusal {
    /// A refusal without a request.
    pub fn new(status: &'static str, message: impl Into<String>) -> CallRefusal {
        CallRefusal { status, message: message.into(), request: None }
    }
}

/// The result of a tool call that was refused, in the form of the client's protocol version.
pub fn refusal_result(refusal: &CallRefusal, is_modern: bool) -> Value {
    let mut result = json!({
        "content": [{ "type": "text", "text": refusal.message }],
        "isError": true,
        "_meta": {
            "dev.countersign/decision": { "status": refusal.status, "approvalId": refusal.request },
        },
    });
    if let (true, Some(members)) = (is_modern, result.as_object_mut()) {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    result
}

/// The response to a request; `id` is the text of its id.
pub fn response(id: &str, result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// The same with the text of a result.
pub fn response_text(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// An error response.
pub fn error(id: &str, code: i32, message: &str) -> String {
    let error = json!({ "code": code, "message": format!("Countersign: {message}") });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// The error code of a refused request that is no tool call. The protocol's own codes are greater.
const REFUSED: i32 = -31_000;

/// The response to a request that was refused: a tool's result, or an error for other requests.
pub fn refusal(id: &str, refusal: &CallRefusal, is_modern: bool, is_read: bool) -> String {
    if is_read {
        error(id, REFUSED, &refusal.message)
    } else {
        response(id, &refusal_result(refusal, is_modern))
    }
}

/// A progress notification; `thousandths` must grow with each one for the same token.
pub fn progress(token: &str, thousandths: u32, message: &str) -> String {
    let value = f64::from(thousandths) / 1000.0;
    let message = Value::from(message);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
         {{\"progressToken\":{token},\"progress\":{value},\"message\":{message}}}}}"
    )
}

/// The message to the model about a denied call.
pub fn denied_message(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!(
        "Denied by a human reviewer{why}. Do not retry or work around this; ask the user how to go on."
    )
}

/// The message to the model about a call that no one has decided yet.
pub fn pending_message(reference: &str) -> String {
    format!(
        "Not run yet: this call is pending, it waits for a person's approval (reference \
         {reference}). Tell the user, continue with other work, and repeat the identical call \
         later: the answer will be there. Nothing else will run it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_tool_result_in_the_form_of_each_version() {
        let denied = CallRefusal::new("denied", denied_message("too risky."));
        let denied = CallRefusal { request: Some("R1".to_owned()), ..denied };
        let modern = response("7", &refusal_result(&denied, true));
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
        assert!(refusal_result(&denied, false).get("resultType").is_none());
        assert!(refusal_result(&denied, true).get("structuredContent").is_none());
    }

    #[test]
    fn progress_grows_by_thousandths() {
        let notice: Value = serde_json::from_str(&progress("\"t\"", 12, "waits")).unwrap();
        assert_eq!(notice["params"]["progress"], 0.012);
        assert_eq!(notice["params"]["progressToken"], "t");
    }
}
