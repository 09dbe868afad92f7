//! For tests: a model server that answers by a script.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// What the server does with a question; it gets the user message.
pub type Script = Box<dyn Fn(&str) -> ScriptedReply + Send>;

/// An answer of the server.
pub enum ScriptedReply {
    /// A verdict with its concern, about the call that was asked about.
    Verdict(&'static str, &'static str),
    /// A word about the message that was asked about.
    Danger(&'static str),
    /// This text as the model's message.
    Text(String),
    /// An error of the server.
    Status(u16),
    /// A verdict with its concern, once the semaphore has a permit.
    Later(Arc<tokio::sync::Semaphore>, &'static str, &'static str),
    /// None at all.
    Silence,
}

/// The server.
pub struct ScriptedModel {
    /// Where it listens.
    pub port: u16,
    state: Arc<ServerState>,
}

struct ServerState {
    questions: AtomicUsize,
    script: Mutex<Script>,
}

impl ScriptedModel {
    /// Starts it with a script.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(script: impl Fn(&str) -> ScriptedReply + Send + 'static) -> ScriptedModel {
        let script: Mutex<Script> = Mutex::new(Box::new(script));
        let state = Arc::new(ServerState { questions: AtomicUsize::new(0), script });
        let router = axum::Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, router).await });
        ScriptedModel { port, state }
    }

    /// How many questions were asked.
    pub fn questions(&self) -> usize {
        self.state.questions.load(Ordering::SeqCst)
    }

    /// Goes on with another script.
    ///
    /// # Panics
    /// If a script panicked before.
    pub fn follow(&self, script: impl Fn(&str) -> ScriptedReply + Send + 'static) {
        *self.state.script.lock().unwrap() = Box::new(script);
    }

    /// The section of the configuration.
    pub fn section(&self, mode: &str, more: &str) -> String {
        let is_set = more.contains("deadline_seconds");
        let deadline = if is_set { "" } else { "deadline_seconds = 1\n" };
        format!(
            "[judge]\nmode = \"{mode}\"\nendpoint = \"http://127.0.0.1:{}/v1\"\n\
             model = \"scripted\"\nallow_private = true\nrelease_after = 20\n\
             max_denied_percent = 20\nsample_percent = 1\n{deadline}{more}",
            self.port
        )
    }
}

async fn answer(State(state): State<Arc<ServerState>>, body: String) -> Response {
    state.questions.fetch_add(1, Ordering::SeqCst);
    let body: Value = serde_json::from_str(&body).unwrap();
    let user = body["messages"][1]["content"].as_str().unwrap().to_owned();
    // A server that follows the schema can give no other members.
    let schema = &body["response_format"]["json_schema"]["schema"]["properties"];
    let is_danger = user.contains("The digest of the message is ");
    assert!(schema.is_null() || schema["danger"].is_object() == is_danger, "{schema}");
    let digest = |of: &str| -> String {
        let named = user.split(&format!("The digest of the {of} is ")).nth(1).unwrap_or_default();
        named.chars().take(64).collect()
    };
    let reply = (state.script.lock().unwrap())(&user);
    let verdict = |verdict: &str, concern: &str| {
        json!({ "call": digest("call"), "verdict": verdict, "concern": concern }).to_string()
    };
    let text = match reply {
        ScriptedReply::Verdict(word, concern) => verdict(word, concern),
        ScriptedReply::Later(turn, word, concern) => {
            let _turn = turn.acquire().await.unwrap();
            verdict(word, concern)
        }
        ScriptedReply::Danger(word) => {
            json!({ "message": digest("message"), "danger": word }).to_string()
        }
        ScriptedReply::Text(text) => text,
        ScriptedReply::Status(status) => {
            return StatusCode::from_u16(status).unwrap().into_response();
        }
        ScriptedReply::Silence => std::future::pending().await,
    };
    axum::Json(json!({
        "choices": [{ "finish_reason": "stop",
            "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 900, "completion_tokens": 40 },
    }))
    .into_response()
}
