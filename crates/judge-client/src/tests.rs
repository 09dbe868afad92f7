//! The client against servers that answer well, badly, late and not at all.

use std::time::Duration;

use countersign_judge::Prompt;
use countersign_net::HttpUrl;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{ApiKey, JudgeClient, ModelApi, ModelError, ModelSettings};

const KEY: &str = "sk-very-secret-key";

fn settings(api: ModelApi, port: u16) -> ModelSettings {
    let base = if api == ModelApi::OpenAi { "/v1" } else { "" };
    ModelSettings {
        api,
        endpoint: HttpUrl::parse(&format!("http://127.0.0.1:{port}{base}")).unwrap(),
        model: "tiny".to_owned(),
        deadline: Duration::from_secs(3),
        max_tokens: 120,
        json_schema: true,
        allow_private: true,
        concurrency: 2,
    }
}

fn prompt() -> Prompt {
    let (system, user) = ("policy".to_owned(), "DATA\n{}\nEND".to_owned());
    Prompt { system, user, form: countersign_judge::ReplyForm::Verdict }
}

/// Answers every connection with these bytes; returns its port and what it was sent last.
async fn server(answer: Vec<u8>) -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sent, received) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, sent) = (answer.clone(), sent.clone());
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut buffer = [0; 16 << 10];
                while !is_whole(&request) {
                    match stream.read(&mut buffer).await {
                        Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
                        _ => return,
                    }
                }
                let _ = sent.send(String::from_utf8_lossy(&request).into_owned());
                let _ = stream.write_all(&answer).await;
                if answer.is_empty() {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    (port, received)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| length.parse() == Ok(body.len()))
}

fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

async fn ask(api: ModelApi, answer: Vec<u8>) -> Result<crate::ModelReply, ModelError> {
    let (port, _sent) = server(answer).await;
    JudgeClient::new(settings(api, port), ApiKey::new(KEY)).ask(&prompt()).await
}

const CHAT: &str = r#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant",
    "content":"hello"}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
const MESSAGE: &str = r#"{"type":"message","role":"assistant","stop_reason":"end_turn",
    "content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":12,"output_tokens":3}}"#;

#[tokio::test]
async fn both_apis_are_asked_as_they_document_it() {
    let (port, mut sent) = server(http("200 OK", CHAT)).await;
    let client = JudgeClient::new(settings(ModelApi::OpenAi, port), ApiKey::new(KEY));
    let answer = client.ask(&prompt()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.input_tokens, answer.output_tokens), ("hello", 12, 3));
    let request = sent.recv().await.unwrap();
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer sk-very-secret-key"), "{request}");
    for part in ["\"stream\":false", "\"temperature\":0", "\"json_schema\"", "\"max_tokens\":120"] {
        assert!(request.contains(part), "{part}: {request}");
    }
    let (port, mut sent) = server(http("200 OK", MESSAGE)).await;
    let client = JudgeClient::new(settings(ModelApi::Anthropic, port), ApiKey::new(KEY));
    assert_eq!(client.ask(&prompt()).await.unwrap().text, "hello");
    let request = sent.recv().await.unwrap();
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    for part in ["x-api-key: sk-very-secret-key", "anthropic-version: 2023-06-01", "\"system\""] {
        assert!(request.contains(part), "{part}: {request}");
    }
}

#[tokio::test]
async fn incomplete_and_foreign_answers_are_errors() {
    use ModelApi::{Anthropic, OpenAi};
    let whole = http("200 OK", CHAT);
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 20].to_vec();
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\ndata: [DONE]\n\n";
    let two = CHAT.replacen("\"choices\":[", "\"choices\":[{\"finish_reason\":\"stop\"},", 1);
    let tool = CHAT.replacen("\"role\"", "\"tool_calls\":[{\"id\":\"1\"}],\"role\"", 1);
    let thinking = MESSAGE.replacen("[{", "[{\"type\":\"thinking\",\"thinking\":\"\"},{", 1);
    for (api, answer) in [
        (OpenAi, http("503 Service Unavailable", CHAT)),
        (OpenAi, http("429 Too Many Requests", "")),
        (OpenAi, http("302 Found", CHAT)),
        (OpenAi, http("200 OK", "")),
        (OpenAi, http("200 OK", "garbage")),
        (OpenAi, http("200 OK", "{\"error\":{\"message\":\"overloaded\"}}")),
        (OpenAi, http("200 OK", stream)),
        (OpenAi, http("200 OK", &CHAT.replace("\"stop\"", "\"length\""))),
        (OpenAi, http("200 OK", &CHAT.replace("\"stop\"", "null"))),
        (OpenAi, http("200 OK", &CHAT.replace("\"hello\"", "null"))),
        (OpenAi, http("200 OK", &CHAT.replace("\"assistant\"", "\"user\""))),
        (OpenAi, http("200 OK", &two)),
        (OpenAi, http("200 OK", &tool)),
        (OpenAi, http("200 OK", &format!("{CHAT}{CHAT}"))),
        (OpenAi, cut(&whole)),
        (OpenAi, b"\x16\x03\x01 not http at all".to_vec()),
        (OpenAi, http("200 OK", &" ".repeat((1 << 20) + 1))),
        (Anthropic, http("200 OK", CHAT)),
        (Anthropic, http("529 Overloaded", MESSAGE)),
        (Anthropic, http("200 OK", &MESSAGE.replace("end_turn", "max_tokens"))),
        (Anthropic, http("200 OK", &MESSAGE.replace("end_turn", "refusal"))),
        (Anthropic, http("200 OK", &thinking)),
        (Anthropic, http("200 OK", &MESSAGE.replace("\"text\",", "\"tool_use\","))),
    ] {
        let shown = String::from_utf8_lossy(&answer).chars().take(160).collect::<String>();
        let error = ask(api, answer).await.expect_err(&shown).to_string();
        assert!(!error.contains(KEY) && !error.contains("hello"), "{error}");
    }
}

#[tokio::test]
async fn a_silent_server_and_a_full_queue_end_at_the_deadline() {
    let (port, _sent) = server(Vec::new()).await;
    let client = JudgeClient::new(settings(ModelApi::OpenAi, port), None);
    let question = prompt();
    let (one, two, three) =
        tokio::join!(client.ask(&question), client.ask(&question), client.ask(&question));
    for answer in [one, two, three] {
        assert_eq!(answer, Err(ModelError::Deadline));
    }
}

#[tokio::test]
async fn private_networks_are_reached_only_where_allowed_and_keys_are_not_shown() {
    let (port, _sent) = server(http("200 OK", CHAT)).await;
    let refused = ModelSettings { allow_private: false, ..settings(ModelApi::OpenAi, port) };
    let client = JudgeClient::new(refused, ApiKey::new(KEY));
    assert!(matches!(client.ask(&prompt()).await, Err(ModelError::Network(_))));
    assert!(!format!("{client:?}").contains(KEY));
    assert!(ApiKey::new("two words").is_none() && ApiKey::new(" \n").is_none());
}
