//! A stand-in for a platform's HTTP API: keeps what comes, and misbehaves when it is told to. And
//! what the proofs of channels share.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use countersign_json::base64;
use proofs::installation::{TestInstallation, UNLIMITED};
use ring::hmac;
use serde_json::{Value, json};

use crate::fixture::Fixture;

pub const MEDIUM: &str = "systemctl restart nginx";
pub const HIGH: &str = "git push --force origin main";
pub const CRITICAL: &str = "rm -rf /";
pub const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// How the next exchange goes.
#[derive(Debug, Clone, Copy)]
pub enum Manner {
    /// This status, with a header.
    Answers(u16, &'static str),
    Hangs,
    BreaksOff,
}

/// Something that came.
#[derive(Debug, Clone)]
pub struct Got {
    pub head: String,
    pub body: String,
    pub at: Instant,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub struct FakeServer {
    pub address: SocketAddr,
    next: Arc<Mutex<VecDeque<Manner>>>,
    got: Arc<Mutex<Vec<Got>>>,
}

impl FakeServer {
    /// Takes everything, and answers it with this status and body.
    pub fn start(status: u16, body: &'static str) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (next, got) = (Arc::<Mutex<VecDeque<Manner>>>::default(), Arc::default());
        let (turns, keeps) = (Arc::clone(&next), Arc::clone(&got));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (turns, keeps) = (Arc::clone(&turns), Arc::clone(&keeps));
                std::thread::spawn(move || serve(stream.unwrap(), &turns, &keeps, status, body));
            }
        });
        FakeServer { address, next, got }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next exchanges go like this.
    pub fn will(&self, manners: &[Manner]) {
        self.next.lock().unwrap().extend(manners);
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until so many have come, and gives all of them.
    pub fn wait(&self, count: usize) -> Vec<Got> {
        until(&format!("{count} messages"), || self.got.lock().unwrap().len() >= count);
        self.got()
    }
}

fn serve(
    mut stream: TcpStream,
    next: &Mutex<VecDeque<Manner>>,
    got: &Mutex<Vec<Got>>,
    status: u16,
    body: &str,
) {
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    let (head, came) = loop {
        let read = stream.read(&mut part).unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let manner = next.lock().unwrap().pop_front();
    got.lock().unwrap().push(Got { head, body: came, at: Instant::now() });
    let (status, header) = match manner {
        None => (status, ""),
        Some(Manner::Answers(status, header)) => (status, header),
        Some(Manner::Hangs) => {
            std::thread::sleep(Duration::from_secs(20));
            return;
        }
        Some(Manner::BreaksOff) => return,
    };
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} X\r\n{header}content-length: {length}\r\n\r\n{body}");
    let _ = stream.write_all(answer.as_bytes());
}

/// Waits for something, at most twenty seconds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(2);
    while Instant::now() < end {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{what}: did not happen in time");
}

/// A file that nobody else can read; its name as TOML has it.
pub fn private(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    format!("{:?}", path.display().to_string())
}

/// A house in which these channels are asked first, at once.
pub fn installation(folder: &Path, first: &str, channels: &str) -> Fixture {
    Fixture::new(installation_with(folder, &format!("first = [\"{first}\"]"), channels))
}

/// The same, with this levels, not started.
pub fn installation_with(folder: &Path, levels: &str, channels: &str) -> TestInstallation {
    let settings = format!(
        "{UNLIMITED}[assurance]\nmedium = \"reached\"\n[escalation]\nat_keyboard_seconds = 0\n\
         {levels}\n{channels}"
    );
    TestInstallation::new(folder, &settings).unwrap()
}

impl Fixture {
    /// Asks about a shell command: the request.
    pub fn ask(&self, command: &str) -> Value {
        let call = json!({ "tool": "shell", "arguments": { "command": command } });
        let reply = self.agent_client().post("/v1/requests", &call).unwrap();
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.body
    }

    /// The request as people see it.
    pub fn look(&self, asked: &Value) -> Value {
        let id = asked["id"].as_str().unwrap();
        self.owner_client().get(&format!("/v1/requests/{id}")).unwrap().body
    }

    pub fn state(&self, asked: &Value) -> String {
        self.look(asked)["state"].as_str().unwrap().to_owned()
    }

    /// Waits until it is on record that the question was sent: only then can it be approved.
    pub fn wait_for_delivery_record(&self, asked: &Value) {
        until("the record", || self.look(asked)["deliveries"][0]["state"] == "arrived");
    }

    /// A code with which the owner links an account.
    pub fn code(&self, channel: &str) -> String {
        let path = format!("/v1/channels/{channel}/link");
        let reply = self.owner_client().post(&path, &json!({})).unwrap();
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.text("code").to_owned()
    }

    /// How a channel does.
    pub fn problem(&self, channel: &str) -> String {
        let list = self.owner_client().get("/v1/channels").unwrap().body;
        let found = list["channels"].as_array().unwrap().iter().find(|one| one["name"] == channel);
        found.unwrap()["problem"].as_str().unwrap_or_default().to_owned()
    }

    /// What a platform posts to a hook: status and body of the answer.
    pub fn hook(&self, channel: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let endpoint = self.gate.people;
        let mut text = format!(
            "POST /hooks/{channel} HTTP/1.1\r\nhost: {endpoint}\r\nconnection: close\r\n\
             content-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            text.extend([*name, ": ", *value, "\r\n"]);
        }
        let mut stream = TcpStream::connect(endpoint).unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        (status, body.unwrap_or_default())
    }
}

/// The middle of how long each took, in milliseconds.
pub fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// Asks a hundred times: how long until the message was there, in the middle.
pub fn median_to_message(fixture: &Fixture, message_at: impl Fn(usize) -> Instant) -> f64 {
    let times = (0..100).map(|number| {
        let since = Instant::now();
        fixture.ask(&format!("{MEDIUM} # {number}"));
        message_at(number).saturating_duration_since(since)
    });
    median(times.collect())
}

/// A Standard Webhooks signature.
pub fn signed(id: &str, time: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &base64::decode(SECRET).unwrap());
    let tag = hmac::sign(&key, format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", base64::encode(tag.as_ref()))
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a platform has a clock of its own")]
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// The text with one letter or digit of it changed.
pub fn mutated(text: &str, chance: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let places: Vec<usize> =
        (0..bytes.len()).filter(|place| bytes[*place].is_ascii_alphanumeric()).collect();
    let place = places[chance % places.len()];
    bytes[place] = if bytes[place] == b'7' { b'5' } else { b'7' };
    String::from_utf8(bytes).unwrap()
}
