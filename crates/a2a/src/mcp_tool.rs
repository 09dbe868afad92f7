//! Runs an approved task with a tool of an MCP server: the server is started for the task, the text
//! is one argument of the tool, and the tool's content is the result.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::artifact::artifact;
use crate::object::set;
use crate::program::{MAX_ERROR, TaskProgram, bounded, last_line};
use crate::task::DelegatedTask;

/// The longest line of a server, and the most that is read of it in all.
const MAX_LINE: u64 = 1 << 20;
const MAX_READ: u64 = 8 << 20;
/// How long the error output of a server that failed is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);
const PROTOCOL: &str = "2025-06-18";

/// A tool of an MCP server that speaks over standard input and output.
#[derive(Debug, Clone)]
pub struct McpTool {
    /// The server, with the limits of one task.
    pub server: TaskProgram,
    /// The tool's name.
    pub tool: String,
    /// The argument that gets the text of the task.
    pub argument: String,
}

impl McpTool {
    /// Runs a task and returns its artifact, or why it failed.
    pub async fn run(&self, task: &DelegatedTask, text: &str) -> Result<Value, String> {
        let (mut child, _group) = self.server.start(task)?;
        let time = self.server.time;
        let ended = tokio::time::timeout(time, self.converse(&mut child, text)).await;
        ended.unwrap_or_else(|_| Err(overdue(time)))
    }

    async fn converse(&self, child: &mut Child, text: &str) -> Result<Value, String> {
        let missing = || "the MCP server has no standard input or output".to_owned();
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let stderr = child.stderr.take();
        let mut conversation = Conversation { stdin, stdout, left: MAX_READ };
        let calling = async {
            let result = self.call(&mut conversation, text).await;
            // The server ends when its input does; its error output then ends as well.
            drop(conversation);
            result
        };
        tokio::pin!(calling);
        let errors = bounded(stderr, MAX_ERROR);
        tokio::pin!(errors);
        let (result, told) = tokio::select! {
            result = &mut calling => (result, None),
            errors = &mut errors => (calling.await, Some(errors)),
        };
        let told = match told {
            Some(told) => told,
            None if result.is_err() => {
                tokio::time::timeout(LAST_WORDS, errors).await.unwrap_or_default()
            }
            None => Vec::new(),
        };
        result.map_err(|why| match last_line(&String::from_utf8_lossy(&told)) {
            line if line.is_empty() => why,
            line => format!("{why}: {line}"),
        })
    }

    async fn call(&self, with: &mut Conversation, text: &str) -> Result<Value, String> {
        let hello = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": { "name": "countersign", "version": env!("CARGO_PKG_VERSION") },
        });
        with.request(1, "initialize", &hello).await?;
        with.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        let mut arguments = json!({});
        set(&mut arguments, &self.argument, json!(text));
        let params = json!({ "name": self.tool, "arguments": arguments });
        let result = with.request(2, "tools/call", &params).await?;
        let text = content_text(&result);
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            let why: String = text.chars().take(500).collect();
            return Err(format!("the tool {} failed: {why}", self.tool));
        }
        Ok(match result.get("structuredContent") {
            Some(Value::Object(members)) if text.is_empty() => {
                artifact(&Value::Object(members.clone()).to_string())
            }
            _ => artifact(&text),
        })
    }
}

fn overdue(time: Duration) -> String {
    format!("it did not end within {} seconds", time.as_secs())
}

/// The texts of a tool's result. Images, sounds and links are only named.
fn content_text(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array);
    let one = |part: &Value| match part.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => {
            format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("unknown content"))
        }
    };
    let texts: Vec<String> = parts.into_iter().flatten().map(one).collect();
    texts.join("\n")
}

/// Messages to and from a server, one on each line.
struct Conversation {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// How many bytes are still read.
    left: u64,
}

impl Conversation {
    async fn write(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let written = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        written.await.map_err(|_| ended())
    }

    /// Sends a request and waits for its response. Requests of the server are answered.
    async fn request(&mut self, id: u64, method: &str, params: &Value) -> Result<Value, String> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        loop {
            let message = self.read().await?;
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (Some(method), Some(asked)) => {
                    let answer = if method == "ping" {
                        json!({ "jsonrpc": "2.0", "id": asked, "result": {} })
                    } else {
                        let error = json!({ "code": -32601, "message": "not supported" });
                        json!({ "jsonrpc": "2.0", "id": asked, "error": error })
                    };
                    self.write(&answer).await?;
                }
                (None, Some(answered)) if answered.as_u64() == Some(id) => {
                    return response(method, &message);
                }
                // A notification, or an answer to nothing.
                _ => {}
            }
        }
    }

    async fn read(&mut self) -> Result<Value, String> {
        let mut line = Vec::new();
        let limit = MAX_LINE.min(self.left);
        let read = (&mut self.stdout).take(limit).read_until(b'\n', &mut line).await;
        let count = u64::try_from(read.map_err(|_| ended())?).unwrap_or(u64::MAX);
        self.left = self.left.saturating_sub(count);
        if line.last() != Some(&b'\n') {
            return Err(if count == limit { too_long() } else { ended() });
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&line)
            .map_err(|_| "the MCP server wrote a line that is not JSON".to_owned())
    }
}

fn response(method: &str, message: &Value) -> Result<Value, String> {
    if let Some(error) = message.get("error") {
        let why = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        let why: String = why.chars().take(500).collect();
        return Err(format!("the MCP server refused {method}: {why}"));
    }
    Ok(message.get("result").cloned().unwrap_or(Value::Null))
}

fn ended() -> String {
    "the MCP server ended before it had answered".to_owned()
}

fn too_long() -> String {
    format!("the MCP server wrote more than {} MiB", MAX_READ >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::test_task;

    /// A server with the tool `work`, in Python.
    const SERVER: &str = r#"
import json, sys
def send(m): print(json.dumps(m), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        send({"jsonrpc": "2.0", "id": 99, "method": "ping"})
        send({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-06-18"}})
    elif m.get("method") == "tools/call":
        text = m["params"]["arguments"]["prompt"]
        if text == "die": sys.exit("no way")
        if text == "flood": print("x" * (2 << 20), flush=True)
        if text == "hang": continue
        if m["params"]["name"] != "work":
            send({"jsonrpc": "2.0", "id": m["id"],
                  "error": {"code": -32602, "message": "Unknown tool"}})
        else:
            send({"jsonrpc": "2.0", "id": m["id"], "result": {
                "content": [{"type": "text", "text": "did " + text}],
                "isError": text == "fail"}})
"#;

    fn tool(name: &str, seconds: u64) -> McpTool {
        let command = ["python3", "-c", SERVER].map(ToOwned::to_owned).to_vec();
        let server = TaskProgram { command, time: Duration::from_secs(seconds), memory_kib: None };
        McpTool { server, tool: name.to_owned(), argument: "prompt".to_owned() }
    }

    #[tokio::test]
    async fn a_tool_gets_the_text_and_its_content_is_the_result() {
        let done = tool("work", 60).run(&test_task(), "it").await;
        assert_eq!(done, Ok(json!({ "text": "did it" })));
        let error = tool("work", 60).run(&test_task(), "fail").await.unwrap_err();
        assert_eq!(error, "the tool work failed: did fail");
        let error = tool("other", 60).run(&test_task(), "it").await.unwrap_err();
        assert_eq!(error, "the MCP server refused tools/call: Unknown tool");
    }

    #[tokio::test]
    async fn a_server_that_ends_hangs_or_floods_is_a_failure() {
        let error = tool("work", 60).run(&test_task(), "die").await.unwrap_err();
        assert_eq!(error, "the MCP server ended before it had answered: no way");
        let error = tool("work", 60).run(&test_task(), "flood").await.unwrap_err();
        assert!(error.contains("MiB"), "{error}");
        let error = tool("work", 1).run(&test_task(), "hang").await.unwrap_err();
        assert_eq!(error, "it did not end within 1 seconds");
    }
}
