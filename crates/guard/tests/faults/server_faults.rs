//! A stand-in for Ollama with faults, and what the guard makes of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use countersign_guard::{
    GuardFailure, GuardFamily, GuardRole, GuardService, GuardSettings, GuardVerdict,
};
use countersign_net::HttpUrl;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a question.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Silence,
    Status(u16),
    Garbage,
    CutOff,
    Stream,
    ErrorInStream,
    Empty,
    Length,
    Load,
    Prose,
    AlwaysSafe,
    AlwaysUnsafe,
    Huge,
}

struct Server {
    url: String,
    fault: Arc<std::sync::Mutex<Fault>>,
    asked: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fault = Arc::new(std::sync::Mutex::new(Fault::None));
        let (asked, most_at_once) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = Server {
            url,
            fault: Arc::clone(&fault),
            asked: Arc::clone(&asked),
            most_at_once: Arc::clone(&most_at_once),
        };
        tokio::spawn(async move {
            let now = Arc::<AtomicUsize>::default();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                asked.fetch_add(1, Ordering::SeqCst);
                let fault = *fault.lock().unwrap();
                let (now, most) = (Arc::clone(&now), Arc::clone(&most_at_once));
                tokio::spawn(async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    answer(stream, fault).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn settings(&self) -> GuardSettings {
        GuardSettings {
            family: GuardFamily::LlamaGuard,
            url: HttpUrl::parse(&self.url).unwrap(),
            model: "m".to_owned(),
            api_key: None,
            allow_private: true,
            timeout: Duration::from_millis(400),
            load_timeout: Duration::from_secs(2),
            concurrent: 2,
            replacement: String::new(),
        }
    }

    /// A guard whose model has passed its self-test.
    async fn guard(&self) -> GuardService {
        let guard = GuardService::new(self.settings());
        let tested = guard.clone();
        tokio::spawn(async move { tested.keep_tested().await });
        while guard.state().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        guard
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_string();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return body.to_owned();
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return String::new(),
        }
    }
}

/// A model that knows a few words, as a stand-in.
fn model(prompt: &str) -> &'static str {
    let conversation = prompt.split("<BEGIN CONVERSATION>").nth(1).unwrap_or_default();
    let conversation = conversation.split("<END CONVERSATION>").next().unwrap_or_default();
    if conversation.contains("kill yourself") || conversation.contains("I want to die") {
        "unsafe\\nS11"
    } else if conversation.contains("bomb") {
        "unsafe\\nS1,S9"
    } else {
        "safe"
    }
}

async fn answer(mut stream: TcpStream, fault: Fault) {
    let body = read_request(&mut stream).await;
    let line = |text: &str, done: bool, reason: &str| {
        format!(r#"{{"model":"m","response":"{text}","done":{done},"done_reason":"{reason}"}}"#)
    };
    let whole = |text: &str| line(text, true, "stop");
    let (status, reply) = match fault {
        Fault::Silence => {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            return;
        }
        Fault::None => {
            tokio::task::yield_now().await;
            (200, whole(model(&body)))
        }
        Fault::Status(status) => (status, whole("safe")),
        Fault::Garbage => (200, "safe".to_owned()),
        Fault::CutOff => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(br#"{"model":"m","response":"safe""#).await;
            return;
        }
        Fault::Stream => (200, format!("{}\n{}", line("sa", false, ""), whole("fe"))),
        Fault::ErrorInStream => (200, format!("{}\n{{\"error\":\"x\"}}", whole("safe"))),
        Fault::Empty => (200, String::new()),
        Fault::Length => (200, line("safe", true, "length")),
        Fault::Load => (200, line("", true, "load")),
        Fault::Prose => (200, whole("safe, I believe")),
        Fault::AlwaysSafe => (200, whole("safe")),
        Fault::AlwaysUnsafe => (200, whole("unsafe\\nS2")),
        Fault::Huge => (200, whole(&"safe".repeat(1 << 19))),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.len()
    );
    let _ = stream.write_all(format!("{head}{reply}").as_bytes()).await;
}

const CALM: &str = "please list the files";

#[tokio::test]
async fn a_working_model_is_believed() {
    let server = Server::start().await;
    let guard = server.guard().await;
    assert_eq!(guard.check(GuardRole::User, CALM).await, GuardVerdict::Safe);
    assert!(guard.check(GuardRole::User, "I want to die").await.is_self_harm());
    let long = format!("{} I want to die {}", "word ".repeat(4_000), "word ".repeat(2_000));
    assert!(guard.check(GuardRole::Agent, &long).await.is_self_harm(), "every part is checked");
    let too_long = guard.check(GuardRole::User, &"a".repeat(1 << 20)).await;
    assert_eq!(too_long, GuardVerdict::Unavailable(GuardFailure::TooLong));
}

#[tokio::test]
async fn no_fault_is_a_safe_verdict() {
    let server = Server::start().await;
    for (fault, why) in [
        (Fault::Silence, GuardFailure::TimedOut),
        (Fault::Status(503), GuardFailure::ServerError),
        (Fault::Status(404), GuardFailure::ServerError),
        (Fault::Status(302), GuardFailure::ServerError),
        (Fault::Garbage, GuardFailure::Unparseable),
        (Fault::CutOff, GuardFailure::Incomplete),
        (Fault::Stream, GuardFailure::Unparseable),
        (Fault::ErrorInStream, GuardFailure::Unparseable),
        (Fault::Empty, GuardFailure::Unparseable),
        (Fault::Length, GuardFailure::Incomplete),
        (Fault::Load, GuardFailure::Incomplete),
        (Fault::Prose, GuardFailure::Unparseable),
        (Fault::Huge, GuardFailure::Unparseable),
    ] {
        server.fail(Fault::None);
        let guard = server.guard().await;
        server.fail(fault);
        let verdict = guard.check(GuardRole::Agent, CALM).await;
        assert_eq!(verdict, GuardVerdict::Unavailable(why));
    }
}

#[tokio::test]
async fn nothing_is_safe_before_the_self_test_or_with_a_model_that_fails_it() {
    let server = Server::start().await;
    let guard = GuardService::new(server.settings());
    let verdict = guard.check(GuardRole::User, CALM).await;
    assert_eq!(verdict, GuardVerdict::Unavailable(GuardFailure::NotTested));
    assert_eq!(server.asked(), 0);
    for fault in [Fault::AlwaysSafe, Fault::AlwaysUnsafe] {
        server.fail(fault);
        let guard = GuardService::new(server.settings());
        let tested = guard.clone();
        let task = tokio::spawn(async move { tested.keep_tested().await });
        while guard.state() == Err(GuardFailure::NotTested) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let verdict = guard.check(GuardRole::User, CALM).await;
        assert_eq!(verdict, GuardVerdict::Unavailable(GuardFailure::SelfTest));
        task.abort();
    }
}

#[tokio::test]
async fn an_unreachable_server_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = Server::start().await;
    let settings = GuardSettings { url: HttpUrl::parse(&url).unwrap(), ..server.settings() };
    let guard = GuardService::new(settings);
    let tested = guard.clone();
    let task = tokio::spawn(async move { tested.keep_tested().await });
    while guard.state() == Err(GuardFailure::NotTested) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(guard.state(), Err(GuardFailure::Unreachable));
    task.abort();
    let private = GuardService::new(GuardSettings { allow_private: false, ..server.settings() });
    let tested = private.clone();
    let task = tokio::spawn(async move { tested.keep_tested().await });
    while private.state() == Err(GuardFailure::NotTested) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(private.state(), Err(GuardFailure::Unreachable), "this machine was not allowed");
    assert_eq!(server.asked(), 0);
    task.abort();
}

#[tokio::test]
async fn the_circuit_opens_and_heals() {
    let server = Server::start().await;
    let guard = server.guard().await;
    server.fail(Fault::Status(503));
    for _ in 0..3 {
        let verdict = guard.check(GuardRole::User, CALM).await;
        assert_eq!(verdict, GuardVerdict::Unavailable(GuardFailure::ServerError));
    }
    let verdict = guard.check(GuardRole::User, CALM).await;
    assert!(matches!(verdict, GuardVerdict::Unavailable(_)));
    assert!(guard.state().is_err(), "the model is tested in the background");
    server.fail(Fault::None);
    while guard.state().is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(guard.check(GuardRole::User, CALM).await, GuardVerdict::Safe);
}

#[tokio::test]
async fn the_limit_holds_and_the_rest_is_not_safe() {
    let server = Server::start().await;
    let guard = server.guard().await;
    server.fail(Fault::Silence);
    let mut checks = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let guard = guard.clone();
        checks.spawn(async move { guard.check(GuardRole::Agent, CALM).await });
    }
    let mut busy = 0;
    while let Some(verdict) = checks.join_next().await {
        let verdict = verdict.unwrap();
        assert!(matches!(verdict, GuardVerdict::Unavailable(_)));
        busy += usize::from(verdict == GuardVerdict::Unavailable(GuardFailure::Busy));
    }
    assert!(busy >= 24, "{busy} of 40 were sent away");
    assert!(server.most_at_once.load(Ordering::SeqCst) <= 2);
}
