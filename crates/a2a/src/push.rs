//! Push notifications: tells the sender of a task about each new state over HTTP, with retries, and
//! never on this machine or in a private network unless that is configured.

use std::sync::Arc;
use std::time::Duration;

use countersign_json::base64;
use countersign_net::{HttpReply, HttpRequest, NetError};
use countersign_store::{PushConfigRow, PushResult};
use countersign_tls::FleetTrust;
use countersign_types::time::Timestamp;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::clock::now;
use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::node::{A2aNode, new_id, unavailable};
use crate::peer::Connection;
use crate::push_config::{PushConfig, PushMethod};
use crate::render::{TaskView, status_update};
use crate::task::DelegatedTask;

/// The most configurations of one task.
pub const MAX_CONFIGS: u32 = 4;
/// How long one attempt may take, and how often one state is tried.
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ATTEMPTS: i64 = 8;
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: i64 = 1000;
/// A delivery that has not ended after this time is tried again.
const LEASE: i64 = 60_000;
/// The longest pause of the loop that looks for deliveries.
const MAX_PAUSE: i64 = 60_000;

impl A2aNode {
    /// Completes a configuration that a peer wants, if it may have it.
    pub(crate) fn accept_push(
        &self,
        peer: &Connection,
        task: &str,
        mut config: PushConfig,
    ) -> Result<(PushConfig, PushConfigRow), A2aError> {
        config.receiver(self.push.allow_private)?;
        if config.id.is_empty() {
            config.id = new_id(now())?;
        }
        config.certificate = base64::encode(peer.certificate());
        let document = serde_json::to_string(&config)
            .map_err(|error| A2aError::Unavailable(error.to_string()))?;
        let (task, id) = (task.to_owned(), config.id.clone());
        Ok((config, PushConfigRow { task, id, document, sent: 0, attempts: 0 }))
    }

    /// A method about the configurations of a task of this peer.
    pub(crate) fn push_method(
        &self,
        peer: &Connection,
        method: PushMethod,
        dialect: ProtocolDialect,
    ) -> Result<Value, A2aError> {
        let (PushMethod::Create(id, _)
        | PushMethod::Get(id, _)
        | PushMethod::List(id)
        | PushMethod::Delete(id, _)) = &method;
        let task = self.task(peer.agent(), id)?.id;
        let configs = || {
            let rows = block_in_place(|| self.tasks.push_configs(&task));
            let rows = rows.map_err(|error| unavailable(&error))?;
            rows.iter().map(parse).collect::<Result<Vec<PushConfig>, A2aError>>()
        };
        match method {
            PushMethod::Create(_, config) => {
                let (config, row) = self.accept_push(peer, &task, *config)?;
                let saved = block_in_place(|| self.tasks.save_push(&row, MAX_CONFIGS));
                if !saved.map_err(|error| unavailable(&error))? {
                    let why = format!("a task has at most {MAX_CONFIGS} push configurations");
                    return Err(A2aError::TooMany(why));
                }
                Ok(config.to_json(&task, dialect))
            }
            PushMethod::Get(_, wanted) => {
                let fits = |one: &PushConfig| wanted.as_ref().is_none_or(|id| *id == one.id);
                let found = configs()?.into_iter().find(fits);
                let missing = || A2aError::TaskNotFound("push configuration".to_owned());
                Ok(found.ok_or_else(missing)?.to_json(&task, dialect))
            }
            PushMethod::List(_) => {
                let list: Vec<Value> =
                    configs()?.iter().map(|one| one.to_json(&task, dialect)).collect();
                Ok(match dialect {
                    ProtocolDialect::V1 => json!({ "configs": list, "nextPageToken": "" }),
                    ProtocolDialect::V03 | ProtocolDialect::Original => Value::Array(list),
                })
            }
            PushMethod::Delete(_, id) => {
                let deleted = block_in_place(|| self.tasks.delete_push(&task, &id));
                deleted.map_err(|error| unavailable(&error))?;
                Ok(if dialect == ProtocolDialect::V1 { json!({}) } else { Value::Null })
            }
        }
    }

    /// Delivers push notifications, for ever.
    pub(crate) async fn deliver_pushes(self: Arc<A2aNode>, trust: Arc<FleetTrust>) {
        loop {
            let Ok(slot) = Arc::clone(&self.push.slots).acquire_owned().await else { return };
            let at = now();
            match block_in_place(|| self.tasks.take_push(at, at.saturating_add(LEASE))) {
                Ok(Some(row)) => {
                    let (node, trust) = (Arc::clone(&self), Arc::clone(&trust));
                    tokio::spawn(async move {
                        node.deliver(&row, &trust).await;
                        drop(slot);
                        node.push.wake();
                    });
                }
                Ok(None) => {
                    drop(slot);
                    let next = block_in_place(|| self.tasks.next_push()).ok().flatten();
                    let pause = next.map_or(MAX_PAUSE, |due| due.saturating_sub(now()));
                    let pause = pause.clamp(20, MAX_PAUSE).unsigned_abs();
                    tokio::select! {
                        () = self.push.wake.notified() => {}
                        () = tokio::time::sleep(Duration::from_millis(pause)) => {}
                    }
                }
                Err(error) => {
                    drop(slot);
                    tracing::error!(%error, "push notifications cannot be read");
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
            }
        }
    }

    /// Delivers the next state to one receiver, and records what became of it.
    async fn deliver(&self, row: &PushConfigRow, trust: &FleetTrust) {
        let result = match self.next_event(row, trust) {
            Ok((config, event)) => {
                let sent = self.post(&config, &event).await;
                let result = verdict(&sent, row.attempts);
                if result != PushResult::Delivered {
                    let why = describe(&sent);
                    tracing::info!(task = row.task, why, ?result, "a push was not delivered");
                }
                result
            }
            Err(why) => {
                tracing::warn!(task = row.task, why, "a push notification was given up");
                PushResult::GivenUp
            }
        };
        if let Err(error) = block_in_place(|| self.tasks.finish_push(row, result)) {
            tracing::error!(%error, "the delivery of a push notification was not recorded");
        }
    }

    /// What is told next, if its receiver is still trusted.
    fn next_event(
        &self,
        row: &PushConfigRow,
        trust: &FleetTrust,
    ) -> Result<(PushConfig, Value), String> {
        let config = parse(row).map_err(|error| error.to_string())?;
        let task = self.any_task(&row.task).map_err(|error| error.to_string())?;
        let certificate = base64::decode(&config.certificate).unwrap_or_default();
        let agent = trust.check_client_at(&certificate, Timestamp(now()));
        if agent.as_deref() != Some(task.peer.as_str()) {
            return Err("the certificate of its peer is not accepted any more".to_owned());
        }
        let count = usize::try_from(row.sent).unwrap_or(usize::MAX).saturating_add(1);
        let past = task.after_steps(count).ok_or("the task has no such state")?;
        Ok((config.clone(), push_event(&past, config.is_old)))
    }

    async fn post(&self, config: &PushConfig, event: &Value) -> Result<HttpReply, NetError> {
        let url = config.receiver(self.push.allow_private);
        let url = url.map_err(|_| NetError::PrivateAddress)?;
        let authorization = config.scheme.as_ref().map(|scheme| {
            format!("{scheme} {}", config.credentials.as_deref().unwrap_or_default())
        });
        let kind = if config.is_old { "application/json" } else { "application/a2a+json" };
        let mut headers = vec![("content-type", kind), ("user-agent", "countersign")];
        let authorization = authorization.as_deref().map(str::trim_end);
        headers.extend(authorization.map(|value| ("authorization", value)));
        headers.extend(config.token.as_deref().map(|token| ("x-a2a-notification-token", token)));
        let body = event.to_string().into_bytes();
        let request = HttpRequest { method: "POST", url: &url, headers: &headers, body };
        self.push.client.exchange_status(request, TIMEOUT).await
    }
}

fn parse(row: &PushConfigRow) -> Result<PushConfig, A2aError> {
    serde_json::from_str(&row.document)
        .map_err(|error| A2aError::Unavailable(format!("push configuration: {error}")))
}

/// What a receiver is told about a state: the whole task at its end, the status before.
fn push_event(task: &DelegatedTask, is_old: bool) -> Value {
    let dialect = if is_old { ProtocolDialect::V03 } else { ProtocolDialect::V1 };
    let whole = TaskView { history: 0, ..TaskView::whole(dialect) };
    if is_old {
        whole.task(task)
    } else if task.state().is_final() {
        json!({ "task": whole.task(task) })
    } else {
        status_update(task, dialect)
    }
}

/// What follows from an attempt.
fn verdict(sent: &Result<HttpReply, NetError>, attempts: i64) -> PushResult {
    let asked = match sent {
        Ok(reply) if (200..300).contains(&reply.status) => return PushResult::Delivered,
        // The receiver does not exist any more.
        Ok(reply) if reply.status == 410 => return PushResult::GivenUp,
        Ok(reply) => reply.retry_after,
        Err(error) if error.is_permanent() => return PushResult::GivenUp,
        Err(_) => None,
    };
    if attempts.saturating_add(1) >= MAX_ATTEMPTS {
        return PushResult::GivenUp;
    }
    let doubled = FIRST_PAUSE << attempts.clamp(0, MAX_ATTEMPTS);
    let asked = asked.and_then(|pause| i64::try_from(pause.as_millis()).ok()).unwrap_or_default();
    PushResult::Retry(now().saturating_add(doubled.max(asked)))
}

fn describe(sent: &Result<HttpReply, NetError>) -> String {
    match sent {
        Ok(reply) => format!("status {}", reply.status),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::TaskState;
    use crate::task::test_task;

    #[test]
    fn failures_are_retried_with_growing_pauses_and_then_given_up() {
        let reply = |status| Ok(HttpReply { status, retry_after: None, body: Vec::new() });
        assert_eq!(verdict(&reply(204), 0), PushResult::Delivered);
        assert_eq!(verdict(&reply(410), 0), PushResult::GivenUp);
        assert_eq!(verdict(&Err(NetError::PrivateAddress), 0), PushResult::GivenUp);
        let pause = |sent: &Result<HttpReply, NetError>, attempts| match verdict(sent, attempts) {
            PushResult::Retry(due) => due - now(),
            other => panic!("{other:?}"),
        };
        assert!((900..=1000).contains(&pause(&reply(500), 0)));
        assert!((63_900..=64_000).contains(&pause(&Err(NetError::Refused), 6)));
        assert_eq!(verdict(&reply(302), 7), PushResult::GivenUp);
        let busy =
            HttpReply { status: 429, retry_after: Some(Duration::from_secs(30)), body: Vec::new() };
        assert!(pause(&Ok(busy), 0) > 29_000);
    }

    #[test]
    fn each_state_is_told_as_it_was() {
        let mut task = test_task();
        for state in [TaskState::Submitted, TaskState::Working, TaskState::Completed] {
            task.advance(state, String::new(), 1);
        }
        task.artifacts = vec![json!({ "text": "done" })];
        let working = push_event(&task.after_steps(2).unwrap(), false);
        assert_eq!(working["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
        let done = push_event(&task.after_steps(3).unwrap(), false);
        assert_eq!(done["task"]["artifacts"][0]["parts"][0]["text"], "done");
        let old = push_event(&task.after_steps(2).unwrap(), true);
        assert_eq!((&old["kind"], &old["status"]["state"]), (&json!("task"), &json!("working")));
        assert!(old.get("artifacts").is_none(), "there was no result yet");
        assert!(task.after_steps(4).is_none());
    }
}
