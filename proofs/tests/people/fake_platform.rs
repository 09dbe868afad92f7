//! Shared by the proofs of Discord and Slack: a fake of a platform's HTTP API that can
//! misbehave, and a caller of our hooks with valid or forged signatures.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request that the platform received.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub authorization: String,
    pub body: Value,
    pub at: Instant,
}

/// A fault of the platform.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Sends this response and does nothing.
    Says(u16, &'static str, Value),
    /// Executes the request and closes the connection without a response.
    Breaks,
    /// Sends no response for this long.
    Silence(Duration),
}

/// A platform that follows its documented API, except for injected faults.
pub struct FakePlatform<P> {
    pub address: SocketAddr,
    pub platform: Arc<Mutex<P>>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
}

/// Handles a request: the status and the body of the response.
pub trait Platform: Send + 'static {
    fn asked(&mut self, asked: &Asked) -> (u16, Value);

    /// Whether this sends a request to people: only these meet the faults, not the messages
    /// about links and changes, which come at times of their own.
    fn is_request(asked: &Asked) -> bool;
}

impl<P: Platform> FakePlatform<P> {
    pub fn start(platform: P) -> FakePlatform<P> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let platform = Arc::new(Mutex::new(platform));
        let faults = Arc::new(Mutex::new(VecDeque::new()));
        let (inner, wrong) = (Arc::clone(&platform), Arc::clone(&faults));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (inner, wrong) = (Arc::clone(&inner), Arc::clone(&wrong));
                std::thread::spawn(move || serve(stream, &inner, &wrong));
            }
        });
        FakePlatform { address, platform, faults }
    }

    /// Injects faults into the next requests that are sent, one each.
    pub fn misbehave(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().extend(faults);
    }

    /// Whether every fault was used.
    pub fn behaves(&self) -> bool {
        self.faults.lock().unwrap().is_empty()
    }

    /// Waits until something is found in the platform.
    pub fn until<T>(&self, what: &str, find: impl Fn(&P) -> Option<T>) -> T {
        until(what, || find(&self.platform.lock().unwrap()))
    }
}

/// Waits until something is there.
pub fn until<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn serve<P: Platform>(
    stream: TcpStream,
    platform: &Mutex<P>,
    faults: &Mutex<VecDeque<Fault>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (line, headers, body) = read(&mut stream)?;
    let mut words = line.split_whitespace();
    let asked = Asked {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        authorization: header(&headers, "authorization").unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        at: Instant::now(),
    };
    let fault = P::is_request(&asked).then(|| faults.lock().unwrap().pop_front()).flatten();
    let mut extra = "";
    let (status, body) = match fault {
        Some(Fault::Says(status, headers, body)) => {
            extra = headers;
            (status, body)
        }
        Some(Fault::Breaks) => {
            platform.lock().unwrap().asked(&asked);
            return None;
        }
        Some(Fault::Silence(time)) => {
            std::thread::sleep(time);
            return None;
        }
        None => platform.lock().unwrap().asked(&asked),
    };
    let body = body.to_string();
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}content-length: {length}\
         \r\nconnection: close\r\n\r\n{body}"
    );
    stream.get_mut().write_all(text.as_bytes()).ok()
}

type Headers = Vec<(String, String)>;

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// First line, headers and body of a message.
fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Headers, Vec<u8>)> {
    let mut first = String::new();
    stream.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut headers = Headers::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = header(&headers, "content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).ok()?;
    Some((first, headers, body))
}

/// A caller of our hooks, with one connection.
pub struct Caller {
    endpoint: SocketAddr,
    path: String,
    stream: Option<(BufReader<TcpStream>, Instant)>,
}

impl Caller {
    pub fn new(endpoint: SocketAddr, channel: &str) -> Caller {
        Caller { endpoint, path: format!("/hooks/{channel}"), stream: None }
    }

    /// Posts a body with just these headers.
    pub fn post(&mut self, headers: &[(&str, &str)], body: &[u8]) -> (u16, Value) {
        // A connection on which nothing is said is closed after a while.
        let second = Duration::from_secs(1);
        let open = self.stream.take().filter(|(_, used)| *used + second > Instant::now());
        let mut stream = if let Some((stream, _)) = open {
            stream
        } else {
            let stream = TcpStream::connect(self.endpoint).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            BufReader::new(stream)
        };
        let mut text = format!("POST {} HTTP/1.1\r\nhost: {}\r\n", self.path, self.endpoint);
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n", body.len());
        let bytes = [text.as_bytes(), body].concat();
        stream.get_mut().write_all(&bytes).unwrap();
        let (line, headers, body) = read(&mut stream).unwrap();
        if header(&headers, "connection") != Some("close") {
            self.stream = Some((stream, Instant::now()));
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a platform has a clock of its own")]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// A secret in a private file.
pub fn secret(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A fixture with these channels.
pub fn installation(folder: &Path, channels: &[(&str, String)]) -> Fixture {
    let names: Vec<&str> = channels.iter().map(|(name, _)| *name).collect();
    let mut settings =
        format!("{UNLIMITED}[escalation]\nfirst = {}\nat_keyboard_seconds = 0\n", json!(names));
    for (name, text) in channels {
        let usual = "allow_private = true\nper_minute = 6000\ntimeout_seconds = 2";
        let _ = write!(settings, "[channels.{name}]\n{usual}\n{text}\n");
    }
    let fixture = Fixture::new(TestInstallation::new(folder, &settings).unwrap());
    wait_for_next_second();
    fixture
}

/// Waits until the next second: replies signed before the channel was opened are rejected.
pub fn wait_for_next_second() {
    let start = now();
    while now() == start {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A code with which the owner links an account.
pub fn code(fixture: &Fixture, channel: &str) -> String {
    let offer = fixture.owner_client().post(&format!("/v1/channels/{channel}/link"), &json!({}));
    let offer = offer.unwrap();
    assert_eq!(offer.status, 201, "{}", offer.body);
    offer.text("code").to_owned()
}

/// Submits a request; returns its id.
pub fn ask(fixture: &Fixture, call: &Value) -> String {
    let asked = fixture.agent_client().post("/v1/requests", call).unwrap();
    assert_eq!((asked.status, asked.text("state")), (201, "pending"), "{}", asked.body);
    asked.text("id").to_owned()
}

/// Submits a request and waits until the daemon has recorded its delivery through these channels.
pub fn asked(fixture: &Fixture, call: &Value, channels: &[&str]) -> String {
    let id = ask(fixture, call);
    until("a delivery", || {
        let read = fixture.owner_client().get(&format!("/v1/requests/{id}")).unwrap();
        let deliveries = read.body["deliveries"].as_array()?.clone();
        let arrived = |channel: &&str| {
            deliveries.iter().any(|one| one["channel"] == **channel && one["state"] == "arrived")
        };
        channels.iter().all(arrived).then_some(())
    });
    id
}

/// The state of a request.
pub fn state(fixture: &Fixture, id: &str) -> String {
    let read = fixture.agent_client().get(&format!("/v1/requests/{id}")).unwrap();
    read.text("state").to_owned()
}

/// The last failure of a channel.
pub fn problem(fixture: &Fixture, channel: &str) -> Option<String> {
    let list = fixture.owner_client().get("/v1/channels").unwrap();
    let channels = list.body["channels"].as_array().unwrap();
    let own = channels.iter().find(|one| one["name"] == channel).unwrap();
    own["problem"].as_str().map(str::to_owned)
}

/// The median.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
