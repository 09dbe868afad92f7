//! What models say about a message that is not likely a sign by itself. They can raise the concern
//! and never lower it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_crisis::{Concern, Screening};
use countersign_guard::{GuardFailure, GuardRole, GuardService, GuardVerdict};

use super::begin_crisis;
use super::guard_check::{self, GuardResult};
use super::screened_text::ScreenedText;
use crate::api::Api;
use crate::gate::Caller;

/// How much longer than the guard's own time limit an answer waits for it.
const GUARD_GRACE: Duration = Duration::from_millis(300);

/// The concern with the guard's verdict: only self-harm counts, it raises by one step, and it
/// never lowers.
pub fn with_guard(concern: Concern, guard: &GuardResult) -> Concern {
    match concern {
        Concern::None if guard.is_self_harm() => Concern::Possible,
        Concern::Possible if guard.is_self_harm() => Concern::Likely,
        concern => concern,
    }
}

/// Asks the guard in a task of its own. A check-in does not wait for it, nor for the judge: a
/// verdict that comes later begins the crisis, and the whole card comes with the next answer.
pub async fn ask_guard(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
    screening: &Screening,
) -> GuardResult {
    let rules = api.gate.rules();
    let guard = api.guard.follow(rules.guard.as_ref());
    if screening.concern == Concern::Possible {
        confirm_later(api, caller, screened, (screening, guard.clone()));
    }
    let Some(guard) = guard else { return GuardResult::Off };
    match screening.concern {
        Concern::Likely => GuardResult::Skipped,
        Concern::Possible => GuardResult::Pending,
        Concern::None => {
            let wait = guard.settings().timeout + GUARD_GRACE;
            let (gate, text) = (Arc::clone(&api.gate), screened.text.to_owned());
            let checking = tokio::spawn(async move {
                guard_check::check(&gate, &guard, GuardRole::User, &text).await
            });
            let timed_out = GuardVerdict::Unavailable(GuardFailure::TimedOut);
            let verdict = tokio::time::timeout(wait, checking).await;
            GuardResult::Asked(verdict.ok().and_then(Result::ok).unwrap_or(timed_out))
        }
    }
}

/// A message whose check-in was shown, while models are asked about it.
struct PossibleSign {
    api: Api,
    caller: Caller,
    session: String,
    text: String,
    screening: Screening,
    raised: AtomicBool,
}

impl PossibleSign {
    /// The first model that sees danger begins the crisis.
    fn raise(&self) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            let said = (self.text.as_str(), &self.screening);
            begin_crisis::raise_later(&self.api, &self.caller, &self.session, said);
        }
    }
}

/// Asks the guard and the judge, whichever are configured, in tasks of their own.
fn confirm_later(
    api: &Api,
    caller: &Caller,
    screened: &ScreenedText<'_>,
    (screening, guard): (&Screening, Option<GuardService>),
) {
    let judge = api.gate.judge().current();
    if guard.is_none() && judge.is_none() {
        return;
    }
    let sign = Arc::new(PossibleSign {
        api: api.clone(),
        caller: caller.clone(),
        session: screened.session.to_owned(),
        text: screened.text.to_owned(),
        screening: screening.clone(),
        raised: AtomicBool::new(false),
    });
    if let Some(guard) = guard {
        let sign = Arc::clone(&sign);
        tokio::spawn(async move {
            let gate = &sign.api.gate;
            let verdict = guard_check::check(gate, &guard, GuardRole::User, &sign.text).await;
            if verdict.is_self_harm() {
                sign.raise();
            }
        });
    }
    if let Some(judge) = judge {
        tokio::spawn(async move {
            if sign.api.gate.judge_sees_danger(&judge, &sign.text).await {
                sign.raise();
            }
        });
    }
}
