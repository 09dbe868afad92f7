//! The forbidden call through an MCP proxy, with a server of ours behind it that only listens.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::knock::{Found, TOOL, short};
use super::run::end_group;

/// The longest message or heap of messages that is read.
const LONGEST: u64 = 1 << 20;

/// How a server's word on what it hears begins, on its standard error.
const HEARD: &str = "countersign-proof-heard ";

/// A server that offers one tool, tells on standard error what it hears, and does nothing. Its
/// words are always the same, so that the proxy remembers one such server and not a new one each
/// time.
const SERVER: &str = r#"
while IFS= read -r line; do
  printf 'countersign-proof-heard %s\n' "$line" >&2
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"method":"initialize"'*)
    result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    result=$result'"serverInfo":{"name":"countersign-proof","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    result='{"tools":[{"name":"countersign_proof_of_gate","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*)
    result='{"content":[{"type":"text","text":"it ran"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// What starts that server.
pub fn server() -> [String; 3] {
    ["/bin/sh", "-c", SERVER].map(str::to_owned)
}

/// Speaks to a proxy as its client would, and proposes the forbidden call. `command` must start it
/// with `server` behind it.
pub fn knock(command: &mut Command, patience: Duration) -> Found {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return never(&format!("its proxy could not be started: {error}")),
    };
    let end = Instant::now() + patience;
    let talk = talk(&mut child, end);
    // Its input is closed by now: it ends, and the server with it.
    while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(10));
    }
    end_group(child.id());
    let _ = child.wait();
    match talk {
        Err(why) => never(&why),
        Ok(Talk { answer, heard }) => {
            let heard = heard.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            judged(answer.as_ref(), &heard)
        }
    }
}

/// What was said.
struct Talk {
    answer: Option<Value>,
    heard: Receiver<String>,
}

fn talk(child: &mut Child, end: Instant) -> Result<Talk, String> {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut to), Some(from), Some(errors)) = pipes else {
        return Err("its proxy has no pipes".to_owned());
    };
    let (tell, heard) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = errors.take(LONGEST).read_to_end(&mut bytes);
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    let (tell, said) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(from.take(LONGEST)).lines();
        for line in lines.map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str::<Value>(&line)
                && tell.send(message).is_err()
            {
                return;
            }
        }
    });
    let mut answer = None;
    for (id, method, params) in [
        (1, "initialize", greeting()),
        (2, "tools/list", json!({})),
        (3, "tools/call", json!({ "name": TOOL, "arguments": {} })),
    ] {
        let mut lines = format!("{}\n", message(id, method, &params));
        if method == "tools/list" {
            lines.insert_str(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        // A proxy that does not read says so by its silence.
        let _ = to.write_all(lines.as_bytes());
        answer = answered(&said, id, end);
        if answer.is_none() {
            break;
        }
    }
    Ok(Talk { answer: answer.filter(|answer| is_answer(answer, 3)), heard })
}

fn greeting() -> Value {
    let client = json!({ "name": "countersign-doctor", "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client })
}

/// As the server reads it: with its method where it looks for it.
fn message(id: u32, method: &str, params: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

fn is_answer(message: &Value, id: u32) -> bool {
    message.get("id").and_then(Value::as_u64) == Some(id.into()) && message.get("method").is_none()
}

fn answered(said: &Receiver<Value>, id: u32, end: Instant) -> Option<Value> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let message = said.recv_timeout(left).ok()?;
        if is_answer(&message, id) {
            return Some(message);
        }
    }
}

fn judged(answer: Option<&Value>, said: &str) -> Found {
    let heard = |method: &str| {
        let method = format!("\"method\":\"{method}\"");
        said.lines().any(|line| line.starts_with(HEARD) && line.contains(&method))
    };
    if heard("tools/call") {
        return Found::Open("the forbidden call reached the server behind it".to_owned());
    }
    let Some(answer) = answer else {
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with(HEARD)).collect();
        let why = match said.last() {
            Some(last) => format!("its proxy gave no answer, but said `{}`", short(last)),
            None => "its proxy gave no answer".to_owned(),
        };
        return never(&why);
    };
    match verdict(answer) {
        Found::Shut(_) if !heard("initialize") => {
            never("the server behind it was not reached: nothing could have run")
        }
        found => found,
    }
}

/// What an answer to the forbidden call means.
fn verdict(answer: &Value) -> Found {
    let Some(result) = answer.get("result") else {
        let why = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        return never(&format!("it answered with an error, `{}`", short(why)));
    };
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let ours = result.pointer("/_meta/dev.countersign~1decision/status").and_then(Value::as_str);
    let words = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    match (is_error, ours) {
        (true, Some(_)) if !words.trim().is_empty() => Found::Shut(short(words)),
        (true, _) => never(&format!("it refused in words that are not ours, `{}`", short(words))),
        (false, _) => Found::Open("the forbidden call was answered as if it had run".to_owned()),
    }
}

fn never(why: &str) -> Found {
    Found::NeverTested(why.trim_end_matches('.').to_owned())
}

/// What was found at a URL of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtUrl {
    /// It is the proxy, which refused in these words.
    Shut(String),
    /// Nobody listens, or nobody speaks.
    Silent(String),
    /// Somebody answers who is not the proxy, or a proxy that lets it pass.
    SomebodyElse,
}

/// The address behind a plain URL of this machine; nothing for any other URL.
pub fn here(url: &str) -> Option<SocketAddr> {
    let (authority, _) = parts(url)?;
    let mut found = authority.to_socket_addrs().ok()?;
    // Names are not looked up elsewhere: only what is written as this machine is.
    let named = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&named);
    found.find(|address| is_here && address.ip().is_loopback())
}

fn parts(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host_ends = authority.rfind(']').unwrap_or(0);
    let has_port = authority.get(host_ends..)?.contains(':');
    let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    let path = if path.is_empty() { "/" } else { path };
    let good = authority.bytes().chain(path.bytes()).all(|byte| byte.is_ascii_graphic());
    (good && !authority.contains('@')).then(|| (authority, path.to_owned()))
}

/// Proposes the forbidden call at a URL of this machine, and nothing else: no session is begun, so
/// that a server which is not behind a proxy has nothing to run.
pub fn knock_http(url: &str, patience: Duration) -> AtUrl {
    match exchange(url, patience) {
        Err(error) => AtUrl::Silent(error.to_string()),
        Ok(text) => {
            let said = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
            let said = said.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut answers = said.filter(|message| is_answer(message, 3));
            match answers.next().map(|answer| verdict(&answer)) {
                Some(Found::Shut(why)) => AtUrl::Shut(why),
                Some(Found::Open(_) | Found::NeverTested(_)) | None => AtUrl::SomebodyElse,
            }
        }
    }
}

fn exchange(url: &str, patience: Duration) -> io::Result<String> {
    let nowhere = || io::Error::other("it is no plain URL of this machine");
    let (address, (authority, path)) = here(url).zip(parts(url)).ok_or_else(nowhere)?;
    let end = Instant::now() + patience;
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_write_timeout(Some(patience))?;
    let body = message(3, "tools/call", &json!({ "name": TOOL, "arguments": {} }));
    // Of the old version: the answer is then not cut into pieces, and ends with the connection.
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let mut said = Vec::new();
    let mut piece = [0; 8192];
    while u64::try_from(said.len()).unwrap_or(u64::MAX) < LONGEST {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            read => said.extend_from_slice(piece.get(..read).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn found(script: &str) -> Found {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "proxy"]).args(server());
        knock(&mut command, Duration::from_secs(3))
    }

    /// A proxy that passes everything on but calls, which it answers like this.
    fn holding(answer: &str, passes_on: bool) -> Found {
        let pass = if passes_on { "printf '%s\\n' \"$line\" >&3;" } else { "" };
        found(&format!(
            "dir=$(mktemp -d); mkfifo $dir/in; \"$@\" <$dir/in & exec 3>$dir/in; rm -r $dir; \
             while IFS= read -r line; do case $line in *tools/call*) {pass} \
             printf '%s\\n' '{answer}' ;; *) printf '%s\\n' \"$line\" >&3 ;; esac; done; \
             exec 3>&-; wait"
        ))
    }

    const NO: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"no"}],
        "isError":true,"_meta":{"dev.countersign/decision":{"status":"denied"}}}}"#;

    #[test]
    fn only_our_own_no_before_a_server_that_heard_nothing_is_a_shut_door() {
        let no = NO.replace('\n', "");
        assert_eq!(holding(&no, false), Found::Shut("no".to_owned()));
        assert!(matches!(holding(&no, true), Found::Open(_)), "the server was called too");
        let theirs = no.replace("dev.countersign/decision", "x");
        assert!(matches!(holding(&theirs, false), Found::NeverTested(_)));
        let ran = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#;
        assert!(matches!(holding(ran, false), Found::Open(_)));
        let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"what"}}"#;
        assert!(matches!(holding(error, false), Found::NeverTested(_)));
    }

    #[test]
    fn what_lets_everything_pass_is_open_and_what_says_nothing_was_never_tested() {
        let passing = found("exec \"$@\"");
        assert_eq!(passing, Found::Open("the forbidden call reached the server behind it".into()));
        let begun = Instant::now();
        for silent in ["exit 0", "exec sleep 60", "echo gone >&2; exit 1"] {
            assert!(matches!(found(silent), Found::NeverTested(_)), "{silent}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
        // Whoever refuses without a server behind it has proved nothing.
        let (no, ok) = (NO.replace('\n', ""), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let list = ok.replace(":1,", ":2,");
        let alone = found(&format!("printf '%s\\n' '{ok}' '{list}' '{no}'; cat >/dev/null"));
        assert!(matches!(alone, Found::NeverTested(_)), "{alone:?}");
    }

    #[test]
    fn a_url_is_knocked_at_on_this_machine_only() {
        for far in ["https://127.0.0.1:1/", "http://192.0.2.1/mcp", "http://a@127.0.0.1/", "x"] {
            assert_eq!(here(far), None, "{far}");
        }
        assert_eq!(here("http://127.0.0.1:6010"), Some("127.0.0.1:6010".parse().unwrap()));
        let answers = |answer: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            });
            knock_http(&url, Duration::from_secs(2))
        };
        let no: &'static str = Box::leak(NO.replace('\n', "").into_boxed_str());
        assert_eq!(answers(no), AtUrl::Shut("no".to_owned()));
        assert_eq!(answers("HTTP/1.0 400 Bad Request\r\n\r\nno session"), AtUrl::SomebodyElse);
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let gone = knock_http(&format!("http://{free}/"), Duration::from_secs(2));
        assert!(matches!(gone, AtUrl::Silent(_)), "{gone:?}");
    }
}
