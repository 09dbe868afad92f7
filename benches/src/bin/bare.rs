//! The least that an axum server can do with the same question: reads its JSON, answers a constant.

use axum::Json;
use axum::routing::post;
use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?.port());
        axum::serve(listener, axum::Router::new().route("/confirm", post(confirm))).await
    })
}

async fn confirm(Json(said): Json<Value>) -> Json<Value> {
    let asked = said.get("action").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let status = if asked { "auto_approved" } else { "denied" };
    Json(json!({ "request_id": "0", "status": status, "decided_by": "whitelist" }))
}
