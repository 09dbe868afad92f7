//! Plain HTTP on a listener that speaks TLS: the caller is told, instead of being disconnected,
//! which clients take for a restart of the daemon.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The most that is read of a refused request: a connection closed with unread bytes loses the
/// response on its way.
const MOST_READ: u64 = 64 << 10;

/// Whether the first byte begins an HTTP request; a TLS record begins with another one.
pub(super) async fn is_spoken(stream: &TcpStream) -> bool {
    let mut first = [0; 1];
    matches!(stream.peek(&mut first).await, Ok(1)) && first.iter().all(u8::is_ascii_uppercase)
}

/// Responds that this address needs https, and closes the connection.
pub(super) async fn refuse(mut stream: TcpStream) {
    let problem = serde_json::json!({
        "type": "urn:countersign:problem:https-required",
        "title": "https is required",
        "status": 400,
        "detail": "this address speaks https only; use https://HOST:PORT#sha256:PIN \
                   (`countersign keys tls` on the daemon's machine prints the pin)",
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        problem.len()
    );
    let sent = stream.write_all(format!("{head}{problem}").as_bytes()).await;
    if sent.is_ok() && stream.shutdown().await.is_ok() {
        let mut rest = stream.take(MOST_READ);
        let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    }
}
