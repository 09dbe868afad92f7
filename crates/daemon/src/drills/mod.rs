//! Drills: made-up risky requests at random times, so that people keep reading. Off by default.
//!
//! A drill has no agent ([`Requester::Drill`]): no agent can see it, it gives no permit and no
//! grant, and no statistics include it. The ledger marks it from the first entry; only the card
//! looks like that of a real request until it is decided.

mod catalog;
mod explanation;
mod schedule;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use countersign_json as json;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::call_digest::digest;
use countersign_risk::context::{Context, Environment, Platform};
use countersign_risk::route::Route;
use countersign_store::{
    RequestQuery, Store as _, StoreError, StoreEvent, StoredRequest, WriteContext,
};
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{DRILL, Event, Requester};
use tokio::sync::broadcast::error::RecvError;

use crate::gate::{Caller, Gate, NewDrill, Rejection};
use crate::presence::Presence;
use crate::random;
use crate::recent::recent;
use crate::shutdown::{Stop, stopped};

pub use explanation::{caught, document, explain};
pub use schedule::DrillRefusal;

/// How often the daemon checks whether a drill is due.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// How far back to look for earlier drills, in milliseconds, and among how many requests.
const LOOKBACK_MS: i64 = 30 * 86_400_000;
const MAX_REQUESTS: usize = 10_000;
/// How many of the newest requests are candidates for the agent that the card shows.
const NEWEST_REQUESTS: u32 = 200;

/// Creates drills as configured, until the daemon stops.
pub async fn run(gate: Arc<Gate>, presence: Arc<Presence>, mut stop: Stop) {
    let mut events = gate.store().subscribe();
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let done = tokio::select! {
            _ = ticks.tick() => run_once(&gate, &presence).await,
            event = events.recv() => match event {
                Ok(StoreEvent::Asked(_) | StoreEvent::Settings) | Err(RecvError::Lagged(_)) => {
                    cancel_for_graver(&gate).await
                }
                Ok(_) => Ok(()),
                Err(RecvError::Closed) => return,
            },
            () = stopped(&mut stop) => return,
        };
        if let Err(error) = done {
            tracing::warn!(%error, "a drill could not be checked or created");
        }
    }
}

/// Creates a drill if one is due now.
async fn run_once(gate: &Arc<Gate>, presence: &Presence) -> Result<(), StoreError> {
    cancel_for_graver(gate).await?;
    let (rules, now) = (gate.rules(), gate.clock().now().at);
    let per_week = rules.drills.per_week;
    let someone_is_available =
        presence.is_there(now) || rules.oncall.holds(&rules.drills.hours, now);
    if per_week == 0 || !someone_is_available {
        return Ok(());
    }
    let Ok(drawn) = random::bytes::<4>().map(u32::from_le_bytes) else { return Ok(()) };
    // Usually the random draw says no; then the store need not be read.
    if !schedule::is_due(per_week, &[], now, drawn) {
        return Ok(());
    }
    let earlier = earlier(gate, now).await?;
    let times: Vec<Timestamp> = earlier.iter().map(|one| one.request.schedule.created).collect();
    if !schedule::is_due(per_week, &times, now, drawn) {
        return Ok(());
    }
    match make(gate, someone_is_available, &earlier).await {
        Ok(stored) => tracing::info!(request = %stored.request.id, "a drill was created"),
        Err(DrillRefusal::Rejected(Rejection::Unavailable(error))) => return Err(error),
        Err(why) => tracing::debug!(%why, "no drill now"),
    }
    Ok(())
}

/// Creates a drill now, because a person asked for one.
pub async fn create_now(gate: &Gate) -> Result<StoredRequest, DrillRefusal> {
    let earlier = earlier(gate, gate.clock().now().at).await.map_err(Rejection::from)?;
    make(gate, true, &earlier).await
}

async fn earlier(gate: &Gate, now: Timestamp) -> Result<Vec<StoredRequest>, StoreError> {
    let since = Timestamp(now.0.saturating_sub(LOOKBACK_MS));
    Ok(recent(gate.store(), since, MAX_REQUESTS).await?.drills)
}

async fn make(
    gate: &Gate,
    someone_is_available: bool,
    earlier: &[StoredRequest],
) -> Result<StoredRequest, DrillRefusal> {
    conditions(gate, someone_is_available).await.map_err(Rejection::from)?.allows()?;
    let typical = typical(gate).await?.ok_or(DrillRefusal::NoAgent)?;
    let own_addresses = Arc::default();
    let caller = Caller { own_addresses, ..Caller::named(DRILL) };
    let done = |name: &str| earlier.iter().any(|one| kind(one) == Some(name));
    // Drills that were not used recently come first; otherwise the order is random.
    let mut drills = Vec::new();
    for drill in catalog::all() {
        let [first, second] = random::bytes::<2>().map_err(|_| Rejection::EntropyUnavailable)?;
        drills.push((done(&drill.name), first, second, drill));
    }
    drills.sort_by_key(|(seen, first, second, _)| (*seen, *first, *second));
    for (.., drill) in drills {
        let (tool, arguments) = drill.call();
        let Ok(value) = json::parse(&arguments) else { continue };
        let mut call = Call {
            tool: Cow::Borrowed(tool),
            arguments: value,
            agent: None,
            session: Some(Cow::Borrowed(&typical.session)),
            context: Context {
                platform: Platform::Api,
                environment: Environment::Workstation,
                cwd: typical.cwd.as_deref(),
                ..Context::default()
            },
            annotations: Annotations::default(),
            claimed: None,
            facts: None,
        };
        let (seen, goes) = gate.assess(&mut call, &caller);
        if goes != (Route::Ask { crisis: false }) {
            continue;
        }
        let digest = digest(&call, arguments.as_bytes());
        let new = NewDrill {
            call,
            seen,
            digest,
            kind: &drill.name,
            description: &drill.says,
            shown: &typical.agent,
        };
        return gate.drill(new).await?.ok_or(DrillRefusal::Open);
    }
    Err(DrillRefusal::NoCall)
}

/// The name of the drill.
fn kind(stored: &StoredRequest) -> Option<&str> {
    match &stored.request.requester {
        Requester::Drill { kind, .. } => Some(kind),
        Requester::Agent(_) | Requester::Person(_) => None,
    }
}

async fn conditions(
    gate: &Gate,
    someone_is_available: bool,
) -> Result<schedule::Conditions, StoreError> {
    let pending = gate.store().pending().await?;
    Ok(schedule::Conditions {
        someone_is_available,
        quiet: gate.rules().oncall.is_quiet_hour(gate.clock().now().at),
        crisis: !gate.crises().list().is_empty(),
        grave: pending.iter().any(is_grave),
        open: pending.iter().any(|stored| stored.request.requester.is_drill()),
    })
}

/// Whether a drill must not compete with this request.
fn is_grave(stored: &StoredRequest) -> bool {
    let request = &stored.request;
    !request.requester.is_drill() && (request.crisis || request.tier >= Tier::High)
}

/// Cancels the pending drill if a request of a higher tier arrived.
async fn cancel_for_graver(gate: &Arc<Gate>) -> Result<(), StoreError> {
    let Some(open) = gate.open_drill() else { return Ok(()) };
    let conditions = conditions(gate, true).await?;
    if !conditions.grave && !conditions.crisis {
        return Ok(());
    }
    if let Some(stored) = gate.store().request(open).await? {
        let note = WriteContext { policy: gate.rules().hash, facts: None, edited: None };
        let by = stored.request.requester;
        match gate.decide(open, Event::Cancel { by }, note).await {
            // It may have ended meanwhile.
            Ok(_) | Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A recent request of an agent, which the card of a drill imitates.
struct TypicalCall {
    agent: String,
    session: String,
    cwd: Option<String>,
}

async fn typical(gate: &Gate) -> Result<Option<TypicalCall>, Rejection> {
    let page = gate
        .store()
        .find(RequestQuery { limit: NEWEST_REQUESTS, ..RequestQuery::default() })
        .await?;
    let mut asked: Vec<StoredRequest> = page.requests;
    asked.retain(|stored| {
        matches!(stored.request.requester, Requester::Agent(_)) && !stored.request.crisis
    });
    let drawn = random::bytes::<4>().map_err(|_| Rejection::EntropyUnavailable)?;
    let drawn = usize::try_from(u32::from_le_bytes(drawn)).unwrap_or_default();
    let at = drawn.checked_rem(asked.len()).unwrap_or_default();
    Ok(asked.get(at).map(|stored| {
        let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
        TypicalCall {
            agent: stored.request.requester.name().to_owned(),
            session: stored.session.clone(),
            cwd: card.get("cwd").and_then(serde_json::Value::as_str).map(str::to_owned),
        }
    }))
}

/// A ledger entry about a pending drill without its marks, for the page of the request, which must
/// not reveal the drill. The ledger itself keeps them.
pub fn without_drill_marks(entry: &[u8], shown: &str) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(entry) else {
        return Vec::new();
    };
    if let Some(agent) = value.get_mut("agent") {
        *agent = shown.into();
    }
    if let Some(facts) = value.get_mut("facts").and_then(serde_json::Value::as_object_mut) {
        facts.remove("drill");
    }
    value.to_string().into_bytes()
}
