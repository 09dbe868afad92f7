//! Spans for an OpenTelemetry collector: OTLP over HTTP as JSON, in batches, never blocking a call.

use std::time::Duration;

use countersign_redact::redact_text;
use countersign_types::time::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::posting::post_text;
use crate::random;
use crate::shutdown::{Stop, stopped};

/// The most spans in the queue; further ones are dropped.
const WAITING: usize = 2048;
/// Spans in one message.
const BATCH: usize = 512;
const EVERY: Duration = Duration::from_secs(5);

/// A call as a span records it, without its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSpan {
    /// The tool.
    pub tool: String,
    /// Its request, if there is one.
    pub request: Option<String>,
    /// The agent.
    pub agent: String,
    /// Its risk tier.
    pub tier: &'static str,
    /// How it ended.
    pub end: &'static str,
    /// When it was asked about.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
}

/// The sending end of the span queue.
#[derive(Debug, Clone)]
pub struct SpanQueue(mpsc::Sender<CallSpan>);

impl SpanQueue {
    /// Queues a span, or drops it: the gate never waits for the exporter.
    pub fn send(&self, call: CallSpan) {
        let _ = self.0.try_send(call);
    }
}

/// The span queue, and the task that exports it to the collector until the daemon stops.
pub fn exporter(collector: &str, stop: Stop) -> (SpanQueue, impl Future<Output = ()> + use<>) {
    let (put, take) = mpsc::channel(WAITING);
    let url = format!("{}/v1/traces", collector.trim_end_matches('/'));
    (SpanQueue(put), carry(url, take, stop))
}

async fn carry(url: String, mut take: mpsc::Receiver<CallSpan>, mut stop: Stop) {
    let mut batch = Vec::new();
    loop {
        let over = tokio::select! {
            () = tokio::time::sleep(EVERY) => false,
            () = stopped(&mut stop) => true,
        };
        while let Ok(call) = take.try_recv() {
            batch.push(call);
            if batch.len() >= BATCH {
                send(&url, &mut batch).await;
            }
        }
        send(&url, &mut batch).await;
        if over {
            return;
        }
    }
}

/// Sends a batch. A failed batch is lost: the ledger is the record, not the spans.
async fn send(url: &str, batch: &mut Vec<CallSpan>) {
    if batch.is_empty() {
        return;
    }
    let body = message(batch);
    batch.clear();
    if let Err(error) = post_text(url, "application/json", body.to_string()).await {
        tracing::debug!(%error, "the collector did not accept the spans");
    }
}

fn message(batch: &[CallSpan]) -> Value {
    let spans: Vec<Value> = batch.iter().filter_map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [text("service.name", "countersign")] },
        "scopeSpans": [{ "scope": { "name": "countersign" }, "spans": spans }],
    }] })
}

fn span(call: &CallSpan) -> Option<Value> {
    let hex =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let nanos = |at: Timestamp| format!("{}000000", at.0.max(0));
    let tool = redact_text(&call.tool).text.into_owned();
    let wait = call.from.until(call.to).0;
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &tool),
        text("gen_ai.agent.name", &call.agent),
        text("countersign.tier", call.tier),
        text("countersign.end", call.end),
        json!({ "key": "countersign.wait_ms", "value": { "intValue": wait.to_string() } }),
    ];
    if let Some(request) = &call.request {
        attributes.push(text("gen_ai.tool.call.id", request));
    }
    Some(json!({
        "traceId": hex(&random::bytes::<16>().ok()?),
        "spanId": hex(&random::bytes::<8>().ok()?),
        "name": format!("execute_tool {tool}"),
        "kind": 1,
        "startTimeUnixNano": nanos(call.from),
        "endTimeUnixNano": nanos(call.to),
        "attributes": attributes,
    }))
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[tokio::test(flavor = "multi_thread")]
    async fn spans_reach_a_collector_without_secrets() {
        let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", collector.local_addr().unwrap());
        let (end, stop) = tokio::sync::watch::channel(false);
        let (spans, work) = exporter(&url, stop);
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let at = Timestamp(1_700_000_000_000);
        for _ in 0..WAITING + 10 {
            // More than the queue holds: dropped without blocking.
            spans.send(CallSpan {
                tool: format!("run {secret}"),
                request: Some("r1".into()),
                agent: "coder".into(),
                tier: "HIGH",
                end: "denied",
                from: at,
                to: Timestamp(at.0 + 1500),
            });
        }
        end.send(true).unwrap();
        let work = tokio::spawn(work);
        let collecting = tokio::task::spawn_blocking(move || {
            let (mut stream, _) = collector.accept().unwrap();
            let mut got = vec![0; 8192];
            let mut n = 0;
            while n < got.len() {
                n += stream.read(&mut got[n..]).unwrap();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            String::from_utf8_lossy(&got[..n]).into_owned()
        });
        let got = collecting.await.unwrap();
        work.await.unwrap();
        assert!(got.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{got}");
        assert!(got.contains("gen_ai.tool.name") && got.contains("execute_tool run"), "{got}");
        assert!(got.contains("\"1700000001500000000\""), "{got}");
        assert!(!got.contains(&secret));
    }
}
