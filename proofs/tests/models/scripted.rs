//! A model server that answers by a script, in the shape of `OpenAI`'s chat completions.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the model is asked about.
pub struct Question {
    /// The digest of the call.
    pub digest: String,
}

/// An answer.
pub enum ScriptedAnswer {
    /// A verdict about the call that was asked about.
    Verdict(&'static str),
    /// This text as the model's message.
    Text(String),
    /// An error of the server.
    Status(u16),
    /// The connection ends without an answer.
    Hangs,
}

type Script = Box<dyn Fn(&Question) -> ScriptedAnswer + Send + Sync>;

struct Shared {
    script: Mutex<Arc<Script>>,
    questions: AtomicUsize,
    stopped: AtomicBool,
}

/// The server.
pub struct ScriptedModel {
    port: u16,
    shared: Arc<Shared>,
}

impl ScriptedModel {
    pub fn start(script: impl Fn(&Question) -> ScriptedAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Arc<Script> = Arc::new(Box::new(script));
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            questions: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || answer(stream, &serving));
            }
        });
        ScriptedModel { port, shared }
    }

    /// Goes on with another script.
    pub fn follow(&self, script: impl Fn(&Question) -> ScriptedAnswer + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(Box::new(script));
    }

    /// How many questions were answered.
    pub fn questions(&self) -> usize {
        self.shared.questions.load(Ordering::SeqCst)
    }

    /// Stops listening: the model is down.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // One connection wakes the listener, which then ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }

    /// The section of the configuration.
    pub fn section(&self, mode: &str) -> String {
        format!(
            "[judge]\nmode = \"{mode}\"\nendpoint = \"http://127.0.0.1:{}/v1\"\n\
             model = \"scripted\"\nallow_private = true\nrelease_after = 20\n\
             max_denied_percent = 20\nsample_percent = 1\ndeadline_seconds = 5\n\
             requests_per_hour = 100000\ntokens_per_day = 4000000000\n",
            self.port
        )
    }
}

/// Reads one request and answers it.
fn answer(stream: TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let text = body["messages"][1]["content"].as_str()?;
    let digest = text.split("The digest of the call is ").nth(1)?.chars().take(64).collect();
    let question = Question { digest };
    let script = Arc::clone(&shared.script.lock().unwrap());
    let said = script(&question);
    shared.questions.fetch_add(1, Ordering::SeqCst);
    let (status, content) = match said {
        ScriptedAnswer::Verdict(verdict) => {
            let concern = if verdict == "allow" { "none" } else { "unclear" };
            let reply = json!({ "call": question.digest, "verdict": verdict, "concern": concern });
            (200, reply.to_string())
        }
        ScriptedAnswer::Text(text) => (200, text),
        ScriptedAnswer::Status(status) => (status, String::new()),
        ScriptedAnswer::Hangs => return None,
    };
    let document = json!({
        "choices": [{ "finish_reason": "stop",
            "message": { "role": "assistant", "content": content } }],
        "usage": { "prompt_tokens": 900, "completion_tokens": 40 },
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        document.len()
    );
    reader.get_mut().write_all((head + &document).as_bytes()).ok()
}
