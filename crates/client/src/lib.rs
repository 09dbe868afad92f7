//! Ask Countersign from Rust, or answer it: a small blocking client that fails closed.
//!
//! An agent connects with [`Agent`] and calls [`Agent::ask`]; a person's tool uses
//! [`People`]. Only the state "approved" becomes [`Outcome::Approved`]; whatever is not
//! understood, does not arrive whole or does not arrive at all is an [`Error`], and an error is a
//! no.
//!
//! ```no_run
//! use countersign_client::{Agent, Endpoint, Outcome, Question};
//!
//! # fn main() -> Result<(), countersign_client::Error> {
//! let agent = Agent::new(Endpoint::parse("unix:/run/user/1000/countersign/agents.sock")?, None);
//! let question = Question::tool("send_email", r#"{"to": "team@example.com"}"#)?;
//! match agent.ask(&question)? {
//!     Outcome::Approved(approval) => println!("{} may run", approval.request().tool),
//!     Outcome::Denied(request) => println!("no: {}", request.reason()),
//!     Outcome::Expired(_) => println!("nobody answered"),
//!     Outcome::Cancelled(_) => println!("taken back"),
//! }
//! # Ok(())
//! # }
//! ```

mod agent;
mod body;
mod channels;
mod endpoint;
mod error;
mod events;
pub mod export;
mod http;
mod outcome;
mod people;
mod question;
mod records;
mod request;
mod time;
pub mod verify;
mod waiting;

pub use agent::{Agent, Batch, BatchItem, Ran, Redeemed, Report, fetch, fresh_key};
pub use channels::{AccountRecord, ChannelRecord, ChannelTest, LinkCode, Tapped};
pub use endpoint::Endpoint;
pub use error::{Error, Problem};
pub use events::{Event, Events};
pub use outcome::{Approval, Outcome};
pub use people::{Choice, Decided, Filter, GrantWish, Login, Page, People};
pub use question::Question;
pub use records::{
    AgentRecord, Crisis, Entries, GrantRecord, LedgerKey, Me, NewAgent, NewGrant, PersonRecord,
    Proof, SessionRecord,
};
pub use request::{Decider, Decision, Drill, Quorum, Request, State, Vote};
pub use time::Time;
pub use waiting::{Waited, Waiting};
