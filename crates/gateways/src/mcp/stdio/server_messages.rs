//! Messages of the server: each goes to the client, or to the engine that asked for it.

use super::pipes::PipeRead;
use super::transport::StdioTransport;
use crate::mcp::raw_json;
use crate::mcp::server_message::{self, ServerMessage};

/// What becomes of a message of the server.
enum Fate {
    /// The client gets it.
    Forward,
    /// The engine got it, or no one asked for it.
    Swallow,
}

impl StdioTransport {
    /// Handles what the server wrote. What the proxy does not use passes.
    pub async fn server_wrote(&self, read: PipeRead) {
        let PipeRead::Line(line) = &read else {
            // A line that is too long is not looked at.
            return self.copy_to_client(read).await;
        };
        let fate = match std::str::from_utf8(line) {
            Ok(text) if text.trim_start().starts_with('[') => self.batch(text).await,
            Ok(text) => self.message(text).await,
            Err(_) => Fate::Forward,
        };
        if matches!(fate, Fate::Forward) {
            self.copy_to_client(read).await;
        }
    }

    async fn batch(&self, text: &str) -> Fate {
        let parts = raw_json::items(text).unwrap_or_default();
        let mut forwarded = Vec::new();
        for part in &parts {
            if matches!(self.message(part).await, Fate::Forward) {
                forwarded.push(*part);
            }
        }
        if forwarded.len() == parts.len() {
            return Fate::Forward;
        }
        if !forwarded.is_empty() {
            self.say(format!("[{}]", forwarded.join(","))).await;
        }
        Fate::Swallow
    }

    async fn message(&self, text: &str) -> Fate {
        let (id, result) = match server_message::read(text) {
            None => return Fate::Forward,
            Some(ServerMessage::ListChanged) => {
                self.knowledge().tools.mark_stale();
                return Fate::Forward;
            }
            Some(ServerMessage::Progress { token, value }) => {
                let is_old = self.routes().is_within_floor(&token, value);
                return if is_old { Fate::Swallow } else { Fate::Forward };
            }
            Some(ServerMessage::Response { id, result }) => (id, result),
        };
        let sent = {
            let mut routes = self.routes();
            if routes.is_reserved(&id) {
                // The server does not know this request.
                return Fate::Swallow;
            }
            routes.answered(&id)
        };
        let Some(sent) = sent else { return Fate::Forward };
        self.knowledge().learn(sent.watch, result).await;
        match sent.to_engine {
            None => Fate::Forward,
            Some(to_engine) => {
                // No one may wait for it any more.
                let _ = to_engine.send(Ok(text.trim().to_owned()));
                Fate::Swallow
            }
        }
    }
}
