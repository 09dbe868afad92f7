//! The Rust SDK: asks Countersign for approval, or answers requests. Blocking; fails closed.
//!
//! An agent creates an [`AgentClient`] and calls [`AgentClient::ask`]; a person's tool uses
//! [`PeopleClient`]. Only the state "approved" becomes [`Outcome::Approved`]. A response that is
//! invalid, incomplete, missing or not signed by the pinned [`DaemonKey`] is an [`Error`], and an
//! error means that the call must not run.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use countersign_client::{AgentClient, CallRequest, DaemonKey, Endpoint, Outcome};
//!
//! # fn main() -> Result<(), countersign_client::Error> {
//! let endpoint = Endpoint::parse("unix:/run/user/1000/countersign/agents.sock")?;
//! let call = CallRequest::tool("send_email", r#"{"to": "team@example.com"}"#)?;
//! let key = DaemonKey::read(Path::new("/home/ana/.local/state/countersign/daemon.pub"));
//! match AgentClient::new(endpoint, None).trusting(key).ask(&call)? {
//!     Outcome::Approved(approval) => println!("{} may run", approval.request().tool),
//!     Outcome::Denied(request) => println!("denied: {}", request.reason()),
//!     Outcome::Expired(_) => println!("not answered in time"),
//!     Outcome::Cancelled(_) => println!("cancelled"),
//! }
//! # Ok(())
//! # }
//! ```

mod administration;
mod agent;
mod agent_reports;
mod body;
mod call_request;
mod channels;
mod daemon_key;
mod encoding;
mod endpoint;
mod error;
mod events;
pub mod export;
mod grant_records;
mod http;
mod kept_connections;
mod outcome;
mod people;
mod people_records;
mod pki;
mod policy_rules;
mod project;
mod public_paths;
mod records;
mod report;
mod request;
mod reviews;
mod screening;
mod servers;
mod socket;
mod time;
pub mod verify;
mod waiting;
mod wire;

pub use agent::AgentClient;
pub use call_request::{CallRequest, FactsMember, McpToolClaim, SnapshotMember};
pub use channels::{AccountRecord, ChannelRecord, ChannelTest, LinkCode, TapRecord};
pub use countersign_tls::{KeyPin, TlsTrust, split_authority};
pub use daemon_key::{DAEMON_KEY_FILE, DaemonKey};
pub use encoding::new_idempotency_key;
pub use endpoint::Endpoint;
pub use error::{Error, ProblemDetails};
pub use events::{EventStream, ServerEvent};
pub use grant_records::{
    AllowedExample, AlsoAllows, ExactGrant, FormSuggestionRecord, GrantRecord, GrantSuggestionList,
    GrantSuggestionRecord, NewCommandGrant, NewGrant, ShapeProposalRecord, ShapeProposals,
};
pub use outcome::{Approval, Outcome};
pub use people::PeopleClient;
pub use people_records::{
    DecisionAnswer, DecisionChoice, DecisionResult, DecisionScope, Filter, GrantWithApproval,
    LoginToken, RequestPage,
};
pub use pki::{CertificateRecord, FleetRecord, IssuedRecord};
pub use policy_rules::{AdoptedProjectList, AdoptedProjectRecord};
pub use project::{git_root, home_folder, process_project};
pub use public_paths::{fetch, post_public};
pub use records::{
    AgentRecord, CrisisRecord, CurrentPerson, DaemonInstallation, Entries, FreezeRecord, LedgerKey,
    LedgerRowDifference, LedgerRows, MerkleProof, NewAgent, PersonRecord, QuarantineRecord,
    Readiness, SessionRecord,
};
pub use report::{Batch, BatchItem, RedeemedPermit, ReportStatus, RunReport};
pub use request::{
    DeciderRecord, DecisionRecord, DrillRecord, JudgeNote, PlaceRecord, QuorumRecord,
    RequestRecord, RequestStatus, ReviewNote, VoteRecord,
};
pub use reviews::{FeedbackRecord, ReviewRecord};
pub use screening::{CARD_WAIT, ScreenedMessage, UserTexts, screen_message};
pub use servers::{ListedToolRecord, NewToolLabel, ServerLearned, ServerRecord};
pub use socket::{SOCKET_NAME, SYSTEM_SERVICE_FILE, find_socket, system_socket};
pub use time::Time;
pub use waiting::{WaitLimits, WaitResult};
