//! Push subscriptions: keeps the channel's list equal to the store, and removes expired ones.

use std::sync::Arc;

use countersign_channels::webpush::{Browser, Browsers};
use countersign_store::{PushSubscription, Store as _, StoreError, StoreEvent, WriteContext};
use countersign_types::time::Clock as _;
use tokio::sync::broadcast::error::RecvError;

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// Between two attempts to read or write, while the store fails.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Keeps the list current until the daemon stops.
pub async fn follow(gate: Arc<Gate>, browsers: Arc<Browsers>, mut stop: Stop) {
    let mut happenings = gate.store().subscribe();
    let (mut stale, mut gone) = (true, Vec::new());
    loop {
        if !gone.is_empty() && end(&gate, &gone).await.is_ok() {
            gone.clear();
        }
        stale = stale && read(&gate, &browsers).await.is_err();
        tokio::select! {
            heard = happenings.recv() => match heard {
                Ok(StoreEvent::Settings) | Err(RecvError::Lagged(_)) => stale = true,
                Ok(_) => {}
                Err(RecvError::Closed) => return,
            },
            lost = browsers.gone() => gone.extend(lost),
            () = tokio::time::sleep(PAUSE), if stale || !gone.is_empty() => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Reads the list again. Removed browsers are not notified any more.
pub async fn read(gate: &Gate, browsers: &Browsers) -> Result<(), StoreError> {
    let people = gate.store().people().await?;
    let known = |subscription: &PushSubscription| {
        people.iter().any(|person| person.name == subscription.person && person.revoked.is_none())
    };
    let list = gate.store().subscriptions().await?;
    let list = list.into_iter().filter(known).map(browser).collect();
    browsers.set(list);
    Ok(())
}

/// A subscription as the channel expects it.
pub fn browser(subscription: PushSubscription) -> Browser {
    let PushSubscription { endpoint, public_key, secret, .. } = subscription;
    Browser { endpoint, public_key, secret }
}

async fn end(gate: &Gate, gone: &[String]) -> Result<(), StoreError> {
    let now = gate.clock().now().at;
    for mut subscription in gate.store().subscriptions().await? {
        if gone.contains(&subscription.endpoint) {
            subscription.ended = Some(now);
            let facts = serde_json::json!({ "by": "the push service" }).to_string();
            let note = WriteContext { policy: gate.rules().hash, facts: Some(facts), edited: None };
            gate.store().save_subscription(subscription, note).await?;
        }
    }
    Ok(())
}
