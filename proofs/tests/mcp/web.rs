//! A stand-in for an MCP server over HTTP: keeps every body it is given, and answers at once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// It listens until the proof is over.
pub struct Web {
    pub port: u16,
    shared: Arc<Shared>,
}

/// What the connections share.
#[derive(Default)]
struct Shared {
    log: Mutex<Vec<String>>,
    /// Whether calls with the argument `wait` may be answered.
    released: Mutex<bool>,
    changed: Condvar,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_release(&self) {
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = Duration::from_mins(1);
        let _ = self.changed.wait_timeout_while(released, limit, |released| !*released);
    }
}

impl Web {
    pub fn new() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let kept = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Web { port, shared }
    }

    /// Answers the calls that have the argument `wait`, from now on.
    pub fn release(&self) {
        *self.shared.released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
    }

    /// What it was given, byte for byte.
    pub fn log(&self) -> Vec<String> {
        self.shared.log().clone()
    }

    /// Whether it was given a call of this tool.
    pub fn reached(&self, tool: &str) -> bool {
        let call = format!("\"name\":\"{tool}\"");
        self.log().iter().any(|body| body.contains("tools/call") && body.contains(&call))
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        shared.log().push(body.clone());
        let message: Value = serde_json::from_str(&body).unwrap_or_default();
        match message["params"]["arguments"]["wait"].as_str() {
            Some("events") => return answer_with_events(reader.get_mut(), &message, shared),
            Some("breaks off") => {
                reader.get_mut().write_all(EVENTS.as_bytes()).ok()?;
                shared.wait_for_release();
                return None;
            }
            Some(_) => shared.wait_for_release(),
            None => {}
        }
        let reply = match answer(&message) {
            Value::Null => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            said => {
                let said = said.to_string();
                let length = said.len();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                     content-length: {length}\r\n\r\n{said}"
                )
            }
        };
        reader.get_mut().write_all(reply.as_bytes()).ok()?;
    }
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                      connection: close\r\n\r\n: begun\n\n";

/// Answers with events: a notice at once, two more and the answer after the release.
fn answer_with_events(stream: &mut TcpStream, message: &Value, shared: &Shared) -> Option<()> {
    let notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
    stream.write_all(EVENTS.as_bytes()).ok()?;
    stream.write_all(notice.as_bytes()).ok()?;
    shared.wait_for_release();
    for _ in 0..2 {
        stream.write_all(notice.as_bytes()).ok()?;
        std::thread::sleep(Duration::from_millis(50));
    }
    stream.write_all(format!("data: {}\n\n", answer(message)).as_bytes()).ok()
}

/// Nothing where nothing was asked.
fn answer(message: &Value) -> Value {
    if let Some(several) = message.as_array() {
        let said: Vec<Value> = several.iter().map(answer).filter(|one| !one.is_null()).collect();
        return if said.is_empty() { Value::Null } else { Value::Array(said) };
    }
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        return Value::Null;
    };
    let params = &message["params"];
    let result = match method {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "stand-in", "version": "1"},
        }),
        "tools/list" => {
            let tools: Value = serde_json::from_str(crate::fixture::TOOLS).unwrap();
            json!({ "tools": tools })
        }
        "tools/call" => {
            let text = format!("ran {} {}", params["name"].as_str().unwrap(), params["arguments"]);
            json!({"content": [{"type": "text", "text": text}], "isError": false})
        }
        _ => json!({}),
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}
