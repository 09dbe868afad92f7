//! The way a call goes through the gate: pass, ask or refuse. Every path into `Pass` is in here.

use serde::Serialize;

use crate::assess::Assessment;
use crate::effect::{Effect, EffectClass};
use crate::policy_ruling::PolicyRuling;
use crate::score;
use crate::verdict::{Mode, Verdict};
use countersign_types::tier::Tier;

/// Where a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "route", rename_all = "snake_case")]
pub enum Route {
    /// It runs, and is written down.
    Pass {
        /// Why nobody is asked.
        why: Pass,
    },
    /// A person is asked.
    Ask {
        /// Whether the crisis rules hold for it: then no grant covers it and words are needed.
        crisis: bool,
    },
    /// It does not run.
    Refuse,
}

/// Why nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// The assessment lets it pass.
    Harmless,
    /// The gate only watches; it would have asked.
    Watching,
}

/// What the gate knows beside the call itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteConditions {
    /// Rollout mode.
    pub mode: Mode,
    /// Whether the session is in a crisis until a person lifts it.
    pub crisis: bool,
}

/// Where a call goes before grants are looked at. The assessment must have been made in `Enforce`:
/// what a mode lets pass is decided here, so that the record says what would have happened.
pub fn route(seen: &Assessment, standing: RouteConditions) -> Route {
    // A rule that denies wins over everything, also in a crisis: nobody could approve the call.
    if standing.mode == Mode::Enforce && seen.policy.as_ref().is_some_and(PolicyRuling::denies) {
        return Route::Refuse;
    }
    if waits_in_crisis(seen, standing.crisis) {
        return Route::Ask { crisis: true };
    }
    match (seen.verdict, standing.mode) {
        (Verdict::Crisis, _) => Route::Ask { crisis: true },
        (Verdict::Allow, _) => Route::Pass { why: Pass::Harmless },
        (Verdict::Ask | Verdict::Deny, Mode::Observe | Mode::CrisisOnly) => {
            Route::Pass { why: Pass::Watching }
        }
        (Verdict::Ask, Mode::Enforce) => Route::Ask { crisis: false },
        (Verdict::Deny, Mode::Enforce) => Route::Refuse,
    }
}

/// Whether a call passes in every mode and in every session: it only reads, and sends nothing. A
/// gateway may let such a call pass without the gate, if it was assessed as on a production
/// machine.
pub fn passes_everywhere(seen: &Assessment) -> bool {
    seen.tier == Tier::Safe
        && seen.verdict == Verdict::Allow
        && seen.side_effect_class == EffectClass::A
        && !seen.crisis_sensitive
        && !waits_in_crisis(seen, true)
}

/// In a crisis, whatever goes out or cannot be undone waits for a person, and decision
/// actions always do. Showing help is never among them: it is answered by the screen itself.
fn waits_in_crisis(seen: &Assessment, crisis: bool) -> bool {
    let decides = seen.effects.has(Effect::Crisis);
    let out = score::goes_out(seen.effects) || !seen.reversible;
    decides || crisis && out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::call::Call;
    use crate::context::Environment;
    use crate::verdict::Policy;
    use countersign_json as json;

    fn goes(call: &str, mode: Mode, crisis: bool) -> Route {
        let value = json::parse(call).unwrap();
        let call = Call::from_json(&value).unwrap();
        route(&assess(&call, &Policy::default()), RouteConditions { mode, crisis })
    }

    const READ: &str = r#"{"command":"ls -la"}"#;
    const DELETE: &str = r#"{"command":"rm -rf /"}"#;
    const MESSAGE: &str = r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"}}"#;
    const CALL_HELP: &str = r#"{"tool":"contact_emergency_services","arguments":{"who":"bo"}}"#;

    #[test]
    fn reads_pass_and_grave_calls_ask() {
        assert_eq!(goes(READ, Mode::Enforce, false), Route::Pass { why: Pass::Harmless });
        assert_eq!(goes(DELETE, Mode::Enforce, false), Route::Ask { crisis: false });
    }

    #[test]
    fn watching_blocks_nothing_but_says_that_it_would_have_asked() {
        for mode in [Mode::Observe, Mode::CrisisOnly] {
            assert_eq!(goes(DELETE, mode, false), Route::Pass { why: Pass::Watching });
            assert_eq!(goes(READ, mode, false), Route::Pass { why: Pass::Harmless });
        }
    }

    #[test]
    fn what_passes_everywhere_only_reads() {
        let everywhere = |call: &str| {
            let value = json::parse(call).unwrap();
            let mut call = Call::from_json(&value).unwrap();
            call.context.environment = Environment::Production;
            passes_everywhere(&assess(&call, &Policy::default()))
        };
        assert!(everywhere(READ));
        assert!(everywhere(r#"{"tool":"Read","arguments":{"file_path":"/srv/a.txt"}}"#));
        for call in [
            DELETE,
            MESSAGE,
            CALL_HELP,
            r#"{"command":"curl https://example.com"}"#,
            r#"{"command":"cat ~/.ssh/id_rsa"}"#,
            r#"{"command":"touch a"}"#,
            r#"{"tool":"Write","arguments":{"file_path":"a","content":""}}"#,
            r#"{"tool":"nobody_knows","arguments":{}}"#,
        ] {
            assert!(!everywhere(call), "{call}");
        }
    }

    #[test]
    fn in_a_crisis_no_mode_lets_anything_out() {
        for mode in [Mode::Observe, Mode::CrisisOnly, Mode::Enforce] {
            assert_eq!(goes(MESSAGE, mode, true), Route::Ask { crisis: true });
            assert_eq!(goes(DELETE, mode, true), Route::Ask { crisis: true });
            assert_eq!(goes(CALL_HELP, mode, false), Route::Ask { crisis: true });
            assert_eq!(goes(READ, mode, true), Route::Pass { why: Pass::Harmless });
        }
    }
}
