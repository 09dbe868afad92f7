//! The forbidden call through an MCP proxy, with our own server behind it that does nothing.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::probe::{FORBIDDEN_TOOL, ProbeResult};
use super::process::{end_group, shorten};

/// The longest output that is read.
const MAX_OUTPUT: u64 = 1 << 20;

/// The start of the line in which our server reports a message, on its standard error.
const RECEIVED: &str = "countersign-proof-received ";

/// A server that offers one tool, reports every message on standard error, and does nothing. Its
/// text never changes, so that the proxy pins one such server and not a new one each time.
const SERVER: &str = r#"
while IFS= read -r line; do
  printf 'countersign-proof-received %s\n' "$line" >&2
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

/// The command that starts our server.
pub fn server() -> [String; 3] {
    ["/bin/sh", "-c", SERVER].map(str::to_owned)
}

/// Uses a proxy as its client would and proposes the forbidden call. `command` must start the proxy
/// with `server` behind it.
pub fn probe(command: &mut Command, patience: Duration) -> ProbeResult {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return untested(&format!("its proxy could not be started: {error}")),
    };
    let end = Instant::now() + patience;
    let exchange = converse(&mut child, end);
    // Its input is closed now, so the proxy exits, and the server with it.
    while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(10));
    }
    end_group(child.id());
    let _ = child.wait();
    match exchange {
        Err(why) => untested(&why),
        Ok(Exchange { answer, errors }) => {
            let errors = errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            interpret(answer.as_ref(), &errors)
        }
    }
}

/// The answer to the call, and everything that was printed on standard error.
struct Exchange {
    answer: Option<Value>,
    errors: Receiver<String>,
}

fn converse(child: &mut Child, end: Instant) -> Result<Exchange, String> {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut to), Some(from), Some(stderr)) = pipes else {
        return Err("its proxy was started without pipes".to_owned());
    };
    let (sender, errors) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stderr.take(MAX_OUTPUT).read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    let (sender, messages) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(from.take(MAX_OUTPUT)).lines();
        for line in lines.map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str::<Value>(&line)
                && sender.send(message).is_err()
            {
                return;
            }
        }
    });
    let mut answer = None;
    for (id, method, params) in [
        (1, "initialize", greeting()),
        (2, "tools/list", json!({})),
        (3, "tools/call", json!({ "name": FORBIDDEN_TOOL, "arguments": {} })),
    ] {
        let mut lines = format!("{}\n", message(id, method, &params));
        if method == "tools/list" {
            lines.insert_str(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        // A proxy that does not read its input gives no answer.
        let _ = to.write_all(lines.as_bytes());
        answer = answer_to(&messages, id, end);
        if answer.is_none() {
            break;
        }
    }
    Ok(Exchange { answer: answer.filter(|answer| is_answer(answer, 3)), errors })
}

fn greeting() -> Value {
    let client = json!({ "name": "countersign-doctor", "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client })
}

/// A message with its members in the order that our server expects.
fn message(id: u32, method: &str, params: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

fn is_answer(message: &Value, id: u32) -> bool {
    message.get("id").and_then(Value::as_u64) == Some(id.into()) && message.get("method").is_none()
}

fn answer_to(messages: &Receiver<Value>, id: u32, end: Instant) -> Option<Value> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let message = messages.recv_timeout(left).ok()?;
        if is_answer(&message, id) {
            return Some(message);
        }
    }
}

fn interpret(answer: Option<&Value>, errors: &str) -> ProbeResult {
    let received = |method: &str| {
        let method = format!("\"method\":\"{method}\"");
        errors.lines().any(|line| line.starts_with(RECEIVED) && line.contains(&method))
    };
    if received("tools/call") {
        return ProbeResult::Unprotected(
            "the forbidden call reached the server behind it".to_owned(),
        );
    }
    let Some(answer) = answer else {
        let mut other = errors.lines().filter(|line| !line.starts_with(RECEIVED));
        let why = match other.next_back() {
            Some(last) => format!("its proxy did not answer and printed `{}`", shorten(last)),
            None => "its proxy did not answer".to_owned(),
        };
        return untested(&why);
    };
    match verdict(answer) {
        ProbeResult::Protected(_) if !received("initialize") => {
            untested("the server behind it was not reached, so nothing could have run")
        }
        found => found,
    }
}

/// The meaning of an answer to the forbidden call.
fn verdict(answer: &Value) -> ProbeResult {
    let Some(result) = answer.get("result") else {
        let why = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        return untested(&format!("it answered with the error `{}`", shorten(why)));
    };
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let ours = result.pointer("/_meta/dev.countersign~1decision/status").and_then(Value::as_str);
    let words = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    match (is_error, ours) {
        (true, Some(_)) if !words.trim().is_empty() => ProbeResult::Protected(shorten(words)),
        (true, _) => {
            untested(&format!("it refused with a message that is not ours, `{}`", shorten(words)))
        }
        (false, _) => {
            ProbeResult::Unprotected("the forbidden call was answered as if it had run".to_owned())
        }
    }
}

fn untested(why: &str) -> ProbeResult {
    ProbeResult::Untested(why.trim_end_matches('.').to_owned())
}

/// The result of a test of a URL of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlProbeResult {
    /// The proxy refused the call, with this message.
    Protected(String),
    /// There was no answer.
    NoAnswer(String),
    /// Another server answered, or a proxy that passed the call.
    NotTheProxy,
}

/// The address of a plain HTTP URL of this machine; `None` for every other URL.
pub fn local_address(url: &str) -> Option<SocketAddr> {
    let (authority, _) = parts(url)?;
    let mut found = authority.to_socket_addrs().ok()?;
    // Only the literal names of this machine count; no other name is looked up.
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

/// Proposes the forbidden call at a URL of this machine without starting a session, so that a
/// server without a proxy does not run it.
pub fn probe_url(url: &str, patience: Duration) -> UrlProbeResult {
    match post(url, patience) {
        Err(error) => UrlProbeResult::NoAnswer(error.to_string()),
        Ok(text) => {
            let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
            let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut answers = messages.filter(|message| is_answer(message, 3));
            match answers.next().map(|answer| verdict(&answer)) {
                Some(ProbeResult::Protected(why)) => UrlProbeResult::Protected(why),
                Some(ProbeResult::Unprotected(_) | ProbeResult::Untested(_)) | None => {
                    UrlProbeResult::NotTheProxy
                }
            }
        }
    }
}

fn post(url: &str, patience: Duration) -> io::Result<String> {
    let other = || io::Error::other("it is not a plain HTTP URL of this machine");
    let (address, (authority, path)) = local_address(url).zip(parts(url)).ok_or_else(other)?;
    let end = Instant::now() + patience;
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_write_timeout(Some(patience))?;
    let body = message(3, "tools/call", &json!({ "name": FORBIDDEN_TOOL, "arguments": {} }));
    // HTTP/1.0: the response is not chunked and ends with the connection.
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let mut response = Vec::new();
    let mut chunk = [0; 8192];
    while u64::try_from(response.len()).unwrap_or(u64::MAX) < MAX_OUTPUT {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            read => response.extend_from_slice(chunk.get(..read).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&response).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn found(script: &str) -> ProbeResult {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "proxy"]).args(server());
        probe(&mut command, Duration::from_secs(3))
    }

    /// A proxy that passes everything on but calls, which it answers like this.
    fn holding(answer: &str, passes_on: bool) -> ProbeResult {
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
    fn protected_means_our_own_refusal_and_a_server_that_received_no_call() {
        let no = NO.replace('\n', "");
        assert_eq!(holding(&no, false), ProbeResult::Protected("no".to_owned()));
        assert!(
            matches!(holding(&no, true), ProbeResult::Unprotected(_)),
            "the server was called too"
        );
        let theirs = no.replace("dev.countersign/decision", "x");
        assert!(matches!(holding(&theirs, false), ProbeResult::Untested(_)));
        let ran = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#;
        assert!(matches!(holding(ran, false), ProbeResult::Unprotected(_)));
        let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"what"}}"#;
        assert!(matches!(holding(error, false), ProbeResult::Untested(_)));
    }

    #[test]
    fn a_proxy_that_passes_calls_is_unprotected_and_a_silent_one_untested() {
        let passing = found("exec \"$@\"");
        assert_eq!(
            passing,
            ProbeResult::Unprotected("the forbidden call reached the server behind it".into())
        );
        // The one that sleeps never ends by itself.
        for silent in ["exit 0", "exec sleep 100000", "echo gone >&2; exit 1"] {
            assert!(matches!(found(silent), ProbeResult::Untested(_)), "{silent}");
        }
        // A refusal without a server behind it proves nothing.
        let (no, ok) = (NO.replace('\n', ""), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let list = ok.replace(":1,", ":2,");
        let alone = found(&format!("printf '%s\\n' '{ok}' '{list}' '{no}'; cat >/dev/null"));
        assert!(matches!(alone, ProbeResult::Untested(_)), "{alone:?}");
    }

    #[test]
    fn only_urls_of_this_machine_are_tested() {
        for far in ["https://127.0.0.1:1/", "http://192.0.2.1/mcp", "http://a@127.0.0.1/", "x"] {
            assert_eq!(local_address(far), None, "{far}");
        }
        assert_eq!(local_address("http://127.0.0.1:6010"), Some("127.0.0.1:6010".parse().unwrap()));
        let answers = |answer: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            });
            probe_url(&url, Duration::from_secs(2))
        };
        let no: &'static str = Box::leak(NO.replace('\n', "").into_boxed_str());
        assert_eq!(answers(no), UrlProbeResult::Protected("no".to_owned()));
        assert_eq!(
            answers("HTTP/1.0 400 Bad Request\r\n\r\nno session"),
            UrlProbeResult::NotTheProxy
        );
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let gone = probe_url(&format!("http://{free}/"), Duration::from_secs(2));
        assert!(matches!(gone, UrlProbeResult::NoAnswer(_)), "{gone:?}");
    }
}
