//! The project of a client: the first of the folders that it offers as roots.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use countersign_json::{self as json, Value};
use countersign_text::file_url;

/// The id of our own question. Servers number their requests, so it is none of theirs.
const OWN_ID: &str = "countersign-roots";

/// What is known about the roots of the only client.
#[derive(Debug, Default)]
pub(super) struct ClientRoots {
    is_offered: AtomicBool,
    is_asked: AtomicBool,
    first: Mutex<Option<String>>,
}

impl ClientRoots {
    /// The first root, if the client has told it.
    pub fn first(&self) -> Option<String> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what a client says about itself in its first request.
    pub fn initialize(&self, params: &Value<'_>) {
        let is_offered = params.pointer("/capabilities/roots").is_some();
        self.is_offered.store(is_offered, Ordering::Relaxed);
    }

    /// Learns from a client's response. Returns whether it is the answer to our own question, which
    /// the server must not see.
    pub fn learn(&self, text: &str) -> bool {
        // Few responses are about roots, and reading a long one costs time.
        if !text.contains("roots") {
            return false;
        }
        let Ok(value) = json::parse(text) else { return false };
        if let Some(roots) = value.pointer("/result/roots").and_then(Value::as_array) {
            let uri = roots.first().and_then(|root| root.get("uri")).and_then(Value::as_str);
            let folder = uri.and_then(file_url::file).filter(|folder| folder.starts_with('/'));
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            *first = folder.map(Cow::into_owned);
        }
        value.get("id").and_then(Value::as_str) == Some(OWN_ID)
            && self.is_asked.swap(false, Ordering::Relaxed)
    }

    /// Our own question, if the client answers such questions and none is open.
    pub fn question(&self) -> Option<String> {
        let asks =
            self.is_offered.load(Ordering::Relaxed) && !self.is_asked.swap(true, Ordering::Relaxed);
        asks.then(|| format!(r#"{{"jsonrpc":"2.0","id":"{OWN_ID}","method":"roots/list"}}"#))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_root_is_the_project_and_only_our_answer_is_kept_back() {
        let roots = ClientRoots::default();
        assert_eq!(roots.question(), None);
        let params = json::parse(r#"{"capabilities":{"roots":{"listChanged":true}}}"#).unwrap();
        roots.initialize(&params);
        assert!(roots.question().unwrap().contains("roots/list"));
        assert_eq!(roots.question(), None);
        let answer = |id: &str, uri: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[{{"uri":"{uri}"}}]}}}}"#)
        };
        assert!(!roots.learn(&answer("3", "file:///srv/a%20b")));
        assert_eq!(roots.first().as_deref(), Some("/srv/a b"));
        let own = format!("\"{OWN_ID}\"");
        assert!(roots.learn(&answer(&own, "file:///srv/shop")));
        assert_eq!(roots.first().as_deref(), Some("/srv/shop"));
        // Nobody asked: this is an answer to the server.
        assert!(!roots.learn(&answer(&own, "https://example.org/x")));
        assert_eq!(roots.first(), None);
    }
}
