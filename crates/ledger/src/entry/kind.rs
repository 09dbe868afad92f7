//! The kinds of ledger entries: a closed list of stable words.

/// Lists the kinds once: variant, word, description.
macro_rules! kinds {
    ($($variant:ident $word:literal $meaning:literal)*) => {
        /// What happened. The words are part of stored ledgers: none is ever changed or reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EntryKind {
            $(#[doc = $meaning] $variant,)*
        }

        impl EntryKind {
            /// Every kind.
            pub const ALL: &[EntryKind] = &[$(EntryKind::$variant,)*];

            /// The word in the entry.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(EntryKind::$variant => $word,)*
                }
            }

            /// A description for people.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(EntryKind::$variant => $meaning,)*
                }
            }

            /// Parses a word.
            pub fn parse(word: &str) -> Option<EntryKind> {
                match word {
                    $($word => Some(EntryKind::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Start "start" "The daemon started."
    Stop "stop" "The daemon stopped."
    Pass "pass" "A call passed without approval."
    Ask "ask" "A call became a request that waits for a decision."
    Vote "vote" "A person voted on a request that several people decide."
    Approve "approve" "A request was approved."
    Deny "deny" "A request or call was denied."
    Expire "expire" "A request was not answered in time."
    Cancel "cancel" "The agent cancelled its request."
    Escalate "escalate" "A request escalated to the next level."
    Notified "notified" "A person was notified."
    NotifyFailed "notify_failed" "A notification failed."
    Permit "permit" "A permit was issued."
    Redeem "redeem" "A permit was used."
    Outcome "outcome" "The outcome of a call was reported."
    Grant "grant" "A grant was created."
    Revoke "revoke" "A grant was revoked."
    UsedGrant "used_grant" "A call passed under a grant."
    Screen "screen" "A text was screened for signs of a crisis."
    CrisisBegin "crisis_begin" "A crisis began."
    CrisisLift "crisis_lift" "A person resolved a crisis."
    CrisisTakeover "crisis_takeover" "A person took over a conversation in a crisis."
    Person "person" "A person was added, changed or removed."
    Agent "agent" "An agent was added, changed or removed."
    LoginFailed "login_failed" "A login failed."
    LockedOut "locked_out" "An account was locked after failed logins."
    Config "config" "Configuration or policy changed."
    Clock "clock" "The system clock jumped."
    Gap "gap" "Entries may be missing here; at most as many as stated."
    CheckpointSent "checkpoint_sent" "A checkpoint was sent to a witness."
    Edit "edit" "A person edited a call before approving it."
    Quarantine "quarantine" "An agent was put in quarantine."
    GateUnprotected "gate_unprotected" "The gate of an agent did not block, was removed, or could not be tested."
    GateProtected "gate_protected" "The gate of an agent blocks again, or can be tested again."
    Acknowledge "acknowledge" "A person accepted a store that was rolled back, replaced or not signed."
    ClockRebased "clock_rebased" "A person set the time of the ledger back to the system clock."
    Frozen "frozen" "A person stopped every call."
    Thawed "thawed" "A person ended a stage of a freeze."
    Label "label" "A person labelled the tools of an MCP server."
    KeyRotated "key_rotated" "The key by which agents recognize the daemon was replaced."
    Certificate "certificate" "A certificate of the agents' fleet was issued, renewed or revoked, or its authority was set up."
    JudgeRelease "judge_release" "The model judge released a call."
    JudgeOpinion "judge_opinion" "The model judge gave an opinion; a person decides."
    JudgeState "judge_state" "The model judge may release calls, or may no longer."
    ReviewBegin "review_begin" "A call may run before a person looks at it; its files can be rolled back."
    ReviewResult "review_result" "What a call under review left in its files was recorded."
    ReviewEnd "review_end" "The review of a call ended: kept, rolled back, unchanged or not reviewed."
    RollBack "roll_back" "A person rejected a call under review, or its files could not be rolled back."
    RowsRecorded "rows_recorded" "The rows of people, agents and their credentials were recorded: at an upgrade, with new times, or as ended."
    Feedback "feedback" "A person said whether a call that ran was right."
}
