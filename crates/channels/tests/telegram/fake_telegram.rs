//! A stand-in for Telegram's Bot API, written from its documentation: updates stay until an offset
//! confirms them, questions for news are held open, and it can be told to fail.

use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const TOKEN: &str = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// How a call goes wrong.
pub enum Fault {
    /// This status and this body.
    Says(u16, String),
    /// No answer for so long.
    Hangs(Duration),
    /// The connection breaks.
    Breaks,
}

impl Fault {
    /// A refusal in Telegram's form.
    pub fn refuses(code: u16, description: &str, parameters: &Value) -> Fault {
        let body = json!({
            "ok": false, "error_code": code, "description": description, "parameters": parameters,
        });
        Fault::Says(code, body.to_string())
    }
}

/// One call that was made.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    pub body: Value,
    pub at: Instant,
}

/// The server.
pub struct FakeTelegram {
    pub url: String,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    updates: Vec<Value>,
    again: Vec<Value>,
    update: i64,
    message: i64,
    calls: Vec<Call>,
    faults: HashMap<String, VecDeque<Fault>>,
}

impl FakeTelegram {
    pub fn start() -> FakeTelegram {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner::default());
        let served = Arc::clone(&inner);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let inner = Arc::clone(&served);
                thread::spawn(move || serve(&inner, stream));
            }
        });
        FakeTelegram { url, inner }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next call of this method goes wrong.
    pub fn fails(&self, method: &str, fault: Fault) {
        self.state().faults.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// A person writes: takes an update without its number, returns the whole update.
    pub fn says(&self, mut update: Value) -> Value {
        let mut state = self.state();
        state.update += 1;
        update["update_id"] = json!(state.update);
        state.updates.push(update.clone());
        drop(state);
        self.inner.news.notify_all();
        update
    }

    /// An update as it is, once more or out of order, whatever was confirmed.
    pub fn delivers(&self, update: Value) {
        self.state().again.push(update);
        self.inner.news.notify_all();
    }

    /// All calls of a method so far.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        let state = self.state();
        state.calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    /// The first call of this method that fits, waited for.
    pub fn call(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Call {
        let end = Instant::now() + Duration::from_mins(2);
        while Instant::now() < end {
            if let Some(call) = self.calls(method).into_iter().find(|call| fits(&call.body)) {
                return call;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("no {method} that fits: {:?}", self.calls(method));
    }
}

/// A tap on a button, without its update's number.
pub fn tap(account: i64, chat: i64, data: &str) -> Value {
    let kind = if chat < 0 { "supergroup" } else { "private" };
    json!({ "callback_query": {
        "id": format!("4382{account}"), "chat_instance": "1", "data": data,
        "from": { "id": account, "is_bot": false, "first_name": "Ana" },
        "message": { "message_id": 1, "date": 1, "chat": { "id": chat, "type": kind } },
    }})
}

/// A text in a private chat, without its update's number.
pub fn text(account: i64, text: &str) -> Value {
    json!({ "message": {
        "message_id": 9, "date": 1, "text": text,
        "from": { "id": account, "is_bot": false, "first_name": "Ana", "username": "ana" },
        "chat": { "id": account, "type": "private" },
    }})
}

fn serve(inner: &Inner, mut stream: TcpStream) {
    let Some((path, body)) = read(&mut stream) else { return };
    let method = path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut state = inner.state.lock().unwrap_or_else(PoisonError::into_inner);
    let call = Call { method: method.clone(), body: body.clone(), at: Instant::now() };
    state.calls.push(call);
    match state.faults.get_mut(&method).and_then(VecDeque::pop_front) {
        None => {}
        Some(Fault::Breaks) => return,
        Some(Fault::Hangs(time)) => {
            drop(state);
            thread::sleep(time);
            return;
        }
        Some(Fault::Says(status, body)) => {
            drop(state);
            answer(&mut stream, status, &body);
            return;
        }
    }
    if path != format!("/bot{TOKEN}/{method}") {
        drop(state);
        answer(&mut stream, 401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#);
        return;
    }
    let result = match method.as_str() {
        "getMe" => {
            json!({ "id": 123_456, "is_bot": true, "first_name": "Gate", "username": "our_bot" })
        }
        "sendMessage" => {
            state.message += 1;
            json!({ "message_id": state.message, "chat": { "id": body["chat_id"] } })
        }
        "getUpdates" => {
            let end = Instant::now() + Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
            let offset = body["offset"].as_i64().unwrap_or(i64::MIN);
            state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
            while state.updates.is_empty() && state.again.is_empty() && Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                let woken = inner.news.wait_timeout(state, left.min(Duration::from_secs(1)));
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            let most = usize::try_from(body["limit"].as_u64().unwrap_or(100)).unwrap();
            let again = std::mem::take(&mut state.again);
            Value::Array(
                again.into_iter().chain(state.updates.iter().take(most).cloned()).collect(),
            )
        }
        _ => json!(true),
    };
    drop(state);
    answer(&mut stream, 200, &json!({ "ok": true, "result": result }).to_string());
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n");
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
}

fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 8192];
        let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            let path = head.split(' ').nth(1)?.to_owned();
            return Some((path, serde_json::from_str(body).unwrap_or(Value::Null)));
        }
    }
}
