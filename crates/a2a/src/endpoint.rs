//! Runs an approved task at an HTTP endpoint: the task is posted as JSON, the response is its
//! result. Redirects are not followed.

use std::fmt;
use std::time::Duration;

use countersign_net::{Client, HttpRequest, HttpUrl};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::artifact::{artifact, task_input};
use crate::program::last_line;
use crate::task::DelegatedTask;

/// An endpoint that runs tasks.
#[derive(Clone)]
pub struct TaskEndpoint {
    url: HttpUrl,
    client: Client,
    token: Option<Zeroizing<String>>,
    time: Duration,
}

impl fmt::Debug for TaskEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl TaskEndpoint {
    /// The endpoint at this URL, with a bearer token and the time that one task may take. This
    /// machine, private networks and unencrypted http are reached only with `allow_private`.
    pub fn new(
        url: &str,
        token: Option<Zeroizing<String>>,
        time: Duration,
        allow_private: bool,
    ) -> Result<TaskEndpoint, &'static str> {
        let url = HttpUrl::parse(url)?;
        if !url.is_https() && !allow_private {
            return Err("the tasks would be sent unencrypted: use https://, or allow private \
                        addresses for a server on this machine");
        }
        Ok(TaskEndpoint { url, client: Client::new(allow_private), token, time })
    }

    /// Runs a task and returns its artifact, or why it failed.
    pub async fn run(&self, task: &DelegatedTask, text: &str) -> Result<Value, String> {
        // Each run is posted once; a receiver can notice a copy.
        let key = match task.further.len() {
            0 => task.id.clone(),
            answers => format!("{}-{answers}", task.id),
        };
        let bearer = self.token.as_ref().map(|token| Zeroizing::new(format!("Bearer {}", **token)));
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/plain"),
            ("idempotency-key", key.as_str()),
        ];
        headers.extend(bearer.as_ref().map(|bearer| ("authorization", bearer.as_str())));
        let body = task_input(task, text).to_string().into_bytes();
        let request = HttpRequest { method: "POST", url: &self.url, headers: &headers, body };
        let reply = self.client.exchange(request, self.time).await;
        let reply = reply.map_err(|error| format!("the endpoint failed: {error}"))?;
        let output = String::from_utf8_lossy(&reply.body);
        match reply.status {
            200..=299 => Ok(artifact(&output)),
            status => {
                let line = last_line(&output);
                let end = if line.is_empty() { String::new() } else { format!(": {line}") };
                Err(format!("the endpoint answered with status {status}{end}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;
    use crate::task::{SenderAnswer, test_task};

    /// A server that answers one request, and what it received.
    fn serve(response: String) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/run", listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut room = [0; 4096];
            while !bytes.ends_with(b"}") {
                let count = stream.read(&mut room).unwrap();
                bytes.extend_from_slice(&room[..count]);
            }
            let _ = stream.write_all(response.as_bytes());
            String::from_utf8(bytes).unwrap()
        });
        (url, serving)
    }

    fn response(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    async fn ran(response: String) -> (Result<Value, String>, String) {
        ran_task(response, &test_task()).await
    }

    async fn ran_task(response: String, task: &DelegatedTask) -> (Result<Value, String>, String) {
        let (url, serving) = serve(response);
        let token = Some(Zeroizing::new("secret".to_owned()));
        let endpoint = TaskEndpoint::new(&url, token, Duration::from_secs(20), true).unwrap();
        let result = endpoint.run(task, "do it").await;
        (result, serving.join().unwrap())
    }

    #[tokio::test]
    async fn responses_become_artifacts_and_failures_have_a_message() {
        let (result, sent) = ran(response("200 OK", r#"{"text":"done"}"#)).await;
        assert_eq!(result, Ok(json!({ "text": "done" })));
        assert!(sent.contains("authorization: Bearer secret"), "{sent}");
        assert!(sent.contains("\"task\":\"do it\"") && sent.contains("\"alice\""), "{sent}");
        assert!(sent.contains("idempotency-key: t\r\n"), "{sent}");
        let mut answered = test_task();
        let (id, text) = ("m".to_owned(), "more".to_owned());
        answered.further.push(SenderAnswer { id, text, approved: None });
        let (_, sent) = ran_task(response("200 OK", "x"), &answered).await;
        assert!(sent.contains("idempotency-key: t-1\r\n"), "{sent}");
        let (result, _) = ran(response("500 Oops", "trace\nboom\n")).await;
        assert_eq!(result, Err("the endpoint answered with status 500: boom".to_owned()));
        let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\
                     content-length: 0\r\n\r\n";
        let (result, _) = ran(moved.to_owned()).await;
        assert_eq!(result, Err("the endpoint answered with status 302".to_owned()));
        let large = response("200 OK", &"a".repeat(countersign_net::MAX_BODY + 1));
        let (result, _) = ran(large).await;
        assert!(result.unwrap_err().contains("longer than"));
    }

    #[tokio::test]
    async fn private_addresses_are_reached_only_where_that_is_allowed() {
        let time = Duration::from_secs(5);
        assert!(TaskEndpoint::new("http://127.0.0.1:1/", None, time, false).is_err());
        let endpoint = TaskEndpoint::new("https://127.0.0.1:1/", None, time, false).unwrap();
        let error = endpoint.run(&test_task(), "x").await.unwrap_err();
        assert!(error.contains("this machine or in a private network"), "{error}");
    }

    #[tokio::test]
    async fn a_silent_endpoint_ends_with_the_time_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let endpoint = TaskEndpoint::new(&url, None, Duration::from_millis(300), true).unwrap();
        let error = endpoint.run(&test_task(), "x").await.unwrap_err();
        assert!(error.contains("no response within"), "{error}");
    }
}
