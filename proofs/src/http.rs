//! A small blocking HTTP client without retries or redirects.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// What came back.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The JSON; null if it is none.
    pub body: Value,
}

impl Reply {
    /// A text of the body; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// One caller with one connection. Nothing is sent twice: whoever hears an error does not know
/// whether it was heard.
#[derive(Debug)]
pub struct Client {
    endpoint: SocketAddr,
    token: Option<String>,
    /// The proof that goes with changes.
    step_up: Option<String>,
    patience: Duration,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    /// A caller without credentials.
    pub fn new(endpoint: SocketAddr) -> Client {
        let patience = Duration::from_mins(1);
        Client { endpoint, token: None, step_up: None, patience, stream: None }
    }

    /// A caller with a token.
    pub fn with(endpoint: SocketAddr, token: &str) -> Client {
        Client { token: Some(token.to_owned()), ..Client::new(endpoint) }
    }

    /// The same, confirming what it changes with this passphrase.
    #[must_use]
    pub fn confirmed(self, passphrase: &str) -> Client {
        let proof = countersign_daemon::auth::step_up_proof(passphrase);
        Client { step_up: Some(proof), ..self }
    }

    /// Waits at most so long for each answer.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Client {
        Client { patience, ..self }
    }

    /// `GET path`.
    pub fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.send("GET", path, &[], None)
    }

    /// `POST path` with a JSON body.
    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<Reply> {
        self.send("POST", path, &[], Some(&body.to_string()))
    }

    /// Any request.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> io::Result<Reply> {
        self.write(method, path, headers, body)?;
        self.read()
    }

    /// Sends, and leaves the answer for later.
    pub fn write(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> io::Result<()> {
        let proof = self.step_up.as_deref().map(|proof| ("x-countersign-step-up", proof));
        let headers: Vec<_> = headers.iter().copied().chain(proof).collect();
        let text = request(self.endpoint, self.token.as_deref(), (method, path), &headers, body);
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        stream.get_mut().write_all(text.as_bytes())?;
        self.stream = Some(stream);
        Ok(())
    }

    /// The answer to what was sent.
    pub fn read(&mut self) -> io::Result<Reply> {
        let mut stream = self.stream.take().ok_or(io::ErrorKind::NotConnected)?;
        let reply = reply(&mut stream)?;
        self.stream = Some(stream);
        Ok(reply)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.endpoint, self.patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.patience))?;
        Ok(BufReader::with_capacity(4096, stream))
    }
}

/// The bytes of a request.
pub fn request(
    endpoint: SocketAddr,
    token: Option<&str>,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {endpoint}\r\n");
    let mut header = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            text.push_str(part);
        }
    };
    if let Some(token) = token {
        header("authorization", &format!("Bearer {token}"));
    }
    for (name, value) in headers {
        header(name, value);
    }
    if let Some(body) = body {
        header("content-type", "application/json");
        header("content-length", &body.len().to_string());
    }
    text.push_str("\r\n");
    text.push_str(body.unwrap_or_default());
    text
}

fn reply(stream: &mut BufReader<TcpStream>) -> io::Result<Reply> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| bad(&line))?;
    let mut length = 0_usize;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| bad("content-length"))?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(bad("an answer without a length"));
        }
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Ok(Reply { status, body })
}
