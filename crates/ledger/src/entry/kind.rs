//! What an entry can be about: a closed list of stable words.

/// Lists the kinds once: variant, word, meaning.
macro_rules! kinds {
    ($($variant:ident $word:literal $meaning:literal)*) => {
        /// What happened. The words stand in ledgers for ever: none is changed or used again.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $meaning] $variant,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// The word in the entry.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Kind::$variant => $word,)*
                }
            }

            /// What it means, for people.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Kind::$variant => $meaning,)*
                }
            }

            /// The kind of a word.
            pub fn from_word(word: &str) -> Option<Kind> {
                match word {
                    $($word => Some(Kind::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Start "start" "The daemon started."
    Stop "stop" "The daemon stopped."
    Pass "pass" "A call passed without being asked about."
    Ask "ask" "A call became a request that waits for a person."
    Vote "vote" "A person voted where several must agree."
    Approve "approve" "A request was approved."
    Deny "deny" "A request or call was denied."
    Expire "expire" "Nobody answered in time."
    Cancel "cancel" "The agent took its request back."
    Climb "climb" "A request climbed a rung of its ladder."
    Notified "notified" "A person was told."
    NotifyFailed "notify_failed" "A person could not be told."
    Permit "permit" "A permit was issued."
    Redeem "redeem" "A permit was used."
    Outcome "outcome" "What came of a call."
    Grant "grant" "A standing permission was given."
    Revoke "revoke" "A standing permission was taken back."
    UsedGrant "used_grant" "A call passed under a standing permission."
    Screen "screen" "A text was screened."
    CrisisBegin "crisis_begin" "A crisis began."
    CrisisLift "crisis_lift" "A crisis was lifted by a person."
    Person "person" "A person was added, changed or removed."
    Agent "agent" "An agent was added, changed or removed."
    LoginFailed "login_failed" "A login failed."
    LockedOut "locked_out" "Somebody was locked out after failed logins."
    Config "config" "Configuration or policy changed."
    Clock "clock" "The clock jumped."
    Gap "gap" "Entries may be missing here, and how many at most."
    CheckpointSent "checkpoint_sent" "A checkpoint left the machine."
    Edit "edit" "A person changed a call before approving it."
    Quarantine "quarantine" "An agent was put in quarantine."
    GateUnprotected "gate_unprotected" "An agent's gate does not block, was removed or cannot be tested."
    GateProtected "gate_protected" "An agent is protected again, or its gate can be tested again."
}
