//! A stand-in for an MCP server over HTTP: keeps every body it is given, and answers at once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// It listens until the proof is over.
pub struct Web {
    pub port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub fn new() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let log = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &log));
            }
        });
        Web { port, log }
    }

    /// What it was given, byte for byte.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it was given a call of this tool.
    pub fn reached(&self, tool: &str) -> bool {
        let call = format!("\"name\":\"{tool}\"");
        self.log().iter().any(|body| body.contains("tools/call") && body.contains(&call))
    }
}

fn serve(stream: TcpStream, log: &Mutex<Vec<String>>) -> Option<()> {
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
        log.lock().unwrap_or_else(PoisonError::into_inner).push(body.clone());
        let reply = match answer(&serde_json::from_str(&body).unwrap_or_default()) {
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
            let tools: Value = serde_json::from_str(crate::wires::TOOLS).unwrap();
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
