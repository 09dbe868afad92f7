//! The gate: the one path of a call, from its submission to its permit.
//!
//! submit → assess → policy → route → join → grants → flood → judge → review → persist → (notifier
//! announces) → wait → decide → persist → permit → outcome. Every failure on the way is a
//! [`Rejection`]: the call does not run.

mod adopted_projects;
mod answer;
mod api_policy;
mod ask;
mod asking_agent;
mod assess_call;
mod bursts;
mod call_entry;
mod call_projects;
mod caller;
mod card_settings;
mod certificate_entry;
mod change_rules;
mod clock_rebase;
mod confirmed_policy;
mod crisis_context;
mod crisis_sessions;
mod crisis_turns;
mod deduplication;
mod demanded_answer;
mod disk_budget;
mod drill;
mod find_projects;
mod flood;
mod flood_tracking;
mod freeze;
mod freeze_state;
mod grant_shapes;
mod grant_suggestions;
mod grants;
mod integrity;
mod integrity_state;
mod judge_canaries;
mod judge_restore;
mod judge_step;
mod judge_words;
mod label_memory;
mod learning;
mod ledger_note;
mod lifecycle;
mod log_span;
mod mode;
mod news;
mod open_drill;
mod persist;
mod policy_change;
mod policy_confirmation;
mod policy_demands;
mod policy_marker;
mod policy_step;
mod project_adoption;
mod record_screening;
mod regret;
mod reported_passes;
mod repository;
mod restore_quarantines;
mod review_snapshot;
mod review_step;
mod review_view;
mod reviews;
mod sealed_file;
mod segments;
mod session_concerns;
mod session_memory;
mod session_question;
mod session_words;
mod state;
mod submission;
mod submit;
mod take_over;
mod tool_labels;
mod unattended;
mod waiters;
mod whitelist;

#[cfg(test)]
mod tests;

pub use adopted_projects::{AdoptedByFolder, AdoptedProject};
pub use answer::{GateAnswer, Passed, Rejection, Settlement};
pub use asking_agent::{
    ANONYMOUS, VERSION_DETAIL, agent_label, agent_version, asking_name, version_label,
};
pub use bursts::{Burst, burst_key, bursts};
pub use call_projects::CallProjects;
pub use caller::Caller;
pub use clock_rebase::RebaseError;
pub use crisis_context::{CrisisContext, POSSIBLE_MINOR, crisis_level};
pub use crisis_sessions::{CrisisSessions, OpenEpisode, Takeover};
pub use crisis_turns::{ConversationTurn, CrisisSigns, CrisisTurns};
pub use deduplication::Deduplication;
pub use drill::NewDrill;
pub use flood::{FloodControl, Quarantine};
pub use freeze_state::FreezeState;
pub use grant_shapes::{ShapeProposal, shape_for, shown_call};
pub use grant_suggestions::GrantSuggestion;
pub use grants::{GrantCache, WHITELIST};
pub use integrity::owned_facts;
pub use integrity_state::Integrity;
pub use label_memory::{ToolClaim, ToolLabels};
pub use learning::{FormSuggestion, LEARNED};
pub use news::GateNews;
pub use open_drill::OpenDrill;
pub use policy_demands::PolicyDemands;
pub use record_screening::ScreeningRecord;
pub use reported_passes::PassReport;
pub use review_view::{ChangedFileView, DiffRow, ReviewChanges, change_view};
pub use reviews::RollBackError;
pub use session_concerns::SessionConcerns;
pub use state::Gate;
pub use submission::{CallSubmission, JoinOptions};
pub use tool_labels::{LabelError, listing_digest};
pub use waiters::{AnswerWaiter, Waiters};
