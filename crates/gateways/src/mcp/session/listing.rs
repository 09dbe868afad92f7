//! The server's tools, asked for by us where the client calls one that it never listed.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use countersign_json::base64;

use super::Session;
use crate::mcp::message::{self, Id, Kind, tool_call};
use crate::mcp::several;
use crate::mcp::words;

/// How long a server may take to list its tools to us.
const LISTING: Duration = Duration::from_secs(5);
/// More pages than this are no list.
const PAGES: usize = 64;

impl Session {
    /// Asks the server for its tools, then goes on with the calls that waited for that.
    pub(super) fn list(self: &Arc<Session>, meta: Option<&str>) {
        let came = self.pages(meta);
        self.tools().asked(came);
        let waiting = self.state().listing.take().unwrap_or_default();
        for line in waiting {
            match message::read(&line) {
                Ok(Kind::Request { id, written, params, .. }) => match tool_call(&line, &params) {
                    Ok(call) => self.decide(&id, written, &call, &line),
                    Err(why) => self.end(&id, &words::error(written, -32602, &why)),
                },
                Ok(Kind::Batch(parts)) => {
                    if let Ok(members) = several::read(&parts) {
                        self.decide_all(&members, &line);
                    }
                }
                _ => {}
            }
        }
    }

    fn pages(&self, meta: Option<&str>) -> Result<(), String> {
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(|_| "there is no randomness")?;
            let id = format!("\"countersign:{}\"", base64::encode_url(&bytes));
            let key = Id::read(&id).ok_or("it has no name")?;
            let (sender, answer) = mpsc::channel();
            self.state().ours.insert(key.clone(), sender);
            let mut params = Vec::new();
            params.extend(meta.map(|meta| format!("\"_meta\":{meta}")));
            let next = cursor.map(|next| format!("\"cursor\":{}", serde_json::Value::from(next)));
            params.extend(next);
            let ask = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{{}}}}}\n",
                params.join(",")
            );
            self.pass(&ask);
            let answer = answer.recv_timeout(LISTING);
            self.state().ours.remove(&key);
            let result = answer.map_err(|_| "it gave no answer")??;
            cursor = self.tools().learn(&result)?;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err("it does not come to an end".to_owned())
    }
}
