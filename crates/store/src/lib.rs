//! What Countersign must not forget, and the words in which a backend promises to keep it.
//!
//! Every method of [`Store`] is a whole transition, never a row to be read, changed and written
//! back: whatever races, one of them wins and the other is told. *Durable* means that the answer
//! comes after the commit has reached the disk; *rides* means that it will be in the next commit.

pub mod backend;
pub mod error;
pub mod people;
pub mod record;
pub mod sqlite;
pub mod wake;

use std::future::Future;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};

pub use backend::Backend;
pub use error::{OpenError, StoreError};
pub use people::{Account, Agent, Login, Passkey, Person, Role, Subscription};
pub use record::{
    Applied, Attempt, AttemptResult, Crisis, Delivery, EditRecord, Found, NewRequest, News, Note,
    Outgoing, Page, Query, Redeemed, Similar, Slice, Stored, Submitted, Told, TreeHead,
};
pub use sqlite::{Offline, Options, SqliteStore};
pub use wake::Happening;

/// What the store answers.
pub type Kept<T> = Result<T, StoreError>;

/// The contract. Any error means that nothing of the call was kept, and that the caller must not
/// act as if it had been.
pub trait Store: Send + Sync + 'static {
    // Requests.

    /// Keeps a new request with its ledger entry and announcement. Durable. The same agent with
    /// the same idempotency key gets the request that is there already. A request settled by a
    /// grant uses the grant up in the same commit, or fails with [`StoreError::GrantOver`]. No
    /// other end than by policy or grant can be brought along.
    fn submit(&self, new: NewRequest) -> impl Future<Output = Kept<Submitted>> + Send;

    /// Lets an event happen to a request by core's state machine, with the store's own time.
    /// Durable, with votes, decision, ledger entries and announcements in one commit. What time
    /// alone does lets others go first.
    fn apply(&self, id: Id, event: Event, note: Note)
    -> impl Future<Output = Kept<Applied>> + Send;

    /// Waits until the request has ended, and reads it then. Ends with an error, never with a
    /// guess, when the store closes or breaks. Commits that fail for a while (a full disk) do not
    /// end it, as they end no request: the caller bounds its wait by the deadline. Dropping the
    /// future takes the waiter away.
    fn ended(&self, id: Id) -> impl Future<Output = Kept<Stored>> + Send;

    /// One request.
    fn request(&self, id: Id) -> impl Future<Output = Kept<Option<Stored>>> + Send;

    /// The request that somebody asked with this idempotency key.
    fn known(
        &self,
        requester: Requester,
        key: String,
    ) -> impl Future<Output = Kept<Option<Stored>>> + Send;

    /// Every request that has not ended, oldest first.
    fn pending(&self) -> impl Future<Output = Kept<Vec<Stored>>> + Send;

    /// When time next changes something for each request that has not ended.
    fn due(&self) -> impl Future<Output = Kept<Vec<(Id, Timestamp)>>> + Send;

    /// Requests by what a person looks for, newest first.
    fn find(&self, query: Query) -> impl Future<Output = Kept<Page>> + Send;

    /// What became of this agent's calls of this tool before that request, as grave as it and no
    /// milder or graver: the newest few, and people's answers since then, counted among the tool's
    /// newest 2,000. Many mild calls say nothing of a grave one.
    fn similar(
        &self,
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp,
    ) -> impl Future<Output = Kept<Similar>> + Send;

    /// Uses a permit: the approved call of this request, this agent, once, and in time. Durable.
    /// While the clock is unsettled nobody can say what is in time: refused.
    fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        note: Note,
    ) -> impl Future<Output = Kept<Redeemed>> + Send;

    /// Keeps what the agent says came of a request that has ended; the first word counts. Durable.
    fn outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        note: Note,
    ) -> impl Future<Output = Kept<Stored>> + Send;

    // Passes and other entries.

    /// Writes down a call that nobody was asked about. *Rides* the next commit; waits for it when
    /// more passes are on their way than a crash may lose, or when the newest commit failed. Its
    /// time is set by the store.
    fn pass(&self, entry: Entry<'static>) -> impl Future<Output = Kept<()>> + Send;

    /// Writes any other entry. Durable. Its time is set by the store.
    fn append(&self, entries: Vec<Entry<'static>>) -> impl Future<Output = Kept<()>> + Send;

    // Grants.

    /// Keeps a grant. Durable.
    fn give(&self, grant: Grant, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// Takes a grant back; `false` if there was none. Durable.
    fn revoke_grant(
        &self,
        id: Id,
        person: String,
        note: Note,
    ) -> impl Future<Output = Kept<bool>> + Send;

    /// All grants, newest first; those that are over as well if `all`.
    fn grants(&self, all: bool) -> impl Future<Output = Kept<Vec<Grant>>> + Send;

    // Crisis.

    /// Puts a session into crisis context, or renews it. Durable.
    fn begin_crisis(&self, crisis: Crisis, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// A person lifts it; `false` if there was none. Durable.
    fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        note: Note,
    ) -> impl Future<Output = Kept<bool>> + Send;

    /// Every session in crisis context.
    fn crises(&self) -> impl Future<Output = Kept<Vec<Crisis>>> + Send;

    // Who is who.

    /// Adds or changes a person. Durable.
    fn keep_person(&self, person: Person, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// All people.
    fn people(&self) -> impl Future<Output = Kept<Vec<Person>>> + Send;

    /// Adds or changes an agent. Durable.
    fn keep_agent(&self, agent: Agent, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// All agents.
    fn agents(&self) -> impl Future<Output = Kept<Vec<Agent>>> + Send;

    /// Keeps a login (a browser session or a person's token), or its end. Durable.
    fn keep_login(&self, login: Login, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// All logins that have not ended.
    fn logins(&self) -> impl Future<Output = Kept<Vec<Login>>> + Send;

    /// Keeps an account elsewhere that somebody linked, or its end. Durable. An account that is
    /// another person's stays theirs: [`StoreError::Exists`].
    fn keep_account(&self, account: Account, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// All accounts that have not ended.
    fn accounts(&self) -> impl Future<Output = Kept<Vec<Account>>> + Send;

    /// Keeps a passkey, that it was used, or its end. Durable. Key, person and credential never
    /// change, and an end stays.
    fn keep_passkey(&self, passkey: Passkey, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// All passkeys that have not ended.
    fn passkeys(&self) -> impl Future<Output = Kept<Vec<Passkey>>> + Send;

    /// Keeps a browser that wants to be called, or its end. Durable.
    fn keep_subscription(
        &self,
        subscription: Subscription,
        note: Note,
    ) -> impl Future<Output = Kept<()>> + Send;

    /// All subscriptions that have not ended.
    fn subscriptions(&self) -> impl Future<Output = Kept<Vec<Subscription>>> + Send;

    // Announcements.

    /// What has to be announced and is not done, oldest first, from behind a place on: what comes
    /// later has a greater one.
    fn outbox(&self, after: u64, limit: u32) -> impl Future<Output = Kept<Vec<Outgoing>>> + Send;

    /// Writes down one attempt to announce. Durable, but lets others go first: it may wait a moment
    /// for a commit that is made anyway. A final failure is a ledger entry.
    fn attempted(&self, attempt: Attempt, note: Note) -> impl Future<Output = Kept<()>> + Send;

    /// A message that counted as arrived did not arrive after all, the platform says: a final
    /// failure of its announcement, which is taken up again. Which waiting request that was about;
    /// none if there is no such message, and then nothing changes.
    fn undelivered(
        &self,
        channel: String,
        message: String,
        why: String,
        note: Note,
    ) -> impl Future<Output = Kept<Option<Id>>> + Send;

    /// How announcements of a request went.
    fn deliveries(&self, request: Id) -> impl Future<Output = Kept<Vec<Delivery>>> + Send;

    // The ledger.

    /// Entries from a place on, with their leaf hashes; at most 4,096 or some MiB at once.
    fn entries(&self, from: u64, limit: u32) -> impl Future<Output = Kept<Slice>> + Send;

    /// The entries that speak of a request, in order.
    fn story(&self, request: Id) -> impl Future<Output = Kept<Vec<Told>>> + Send;

    /// Size and root of the tree, as committed.
    fn tree_head(&self) -> impl Future<Output = Kept<TreeHead>> + Send;

    /// The RFC 6962 inclusion proof of an entry in the tree of `size`.
    fn inclusion(&self, index: u64, size: u64) -> impl Future<Output = Kept<Found>> + Send;

    /// The RFC 6962 consistency proof between two sizes.
    fn consistency(&self, old: u64, new: u64) -> impl Future<Output = Kept<Found>> + Send;

    /// Keeps a signed checkpoint, unless one of the same or a greater size is there. Durable. One
    /// of more entries than there are is refused.
    fn keep_checkpoint(&self, size: u64, note: String) -> impl Future<Output = Kept<()>> + Send;

    /// The newest signed checkpoint.
    fn checkpoint(&self) -> impl Future<Output = Kept<Option<String>>> + Send;

    // The store itself.

    /// What happens from now on, after its commit. A reader that falls behind is told so and
    /// reads the rows again.
    fn watch(&self) -> tokio::sync::broadcast::Receiver<Happening>;

    /// Whether the newest commit succeeded. Tries one if the newest failed.
    fn healthy(&self) -> impl Future<Output = bool> + Send;

    /// Commits what rides, marks a clean stop, closes. Nothing may be asked afterwards.
    fn close(&self) -> impl Future<Output = Kept<()>> + Send;
}
