//! The store that the daemon holds: one of the backends, without generics.

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};

use crate::sqlite::SqliteStore;
use crate::{
    Account, Agent, Applied, Attempt, Crisis, Delivery, Found, Happening, Kept, Login, NewRequest,
    Note, Outgoing, Page, Passkey, Person, Query, Redeemed, Similar, Slice, Store, Stored,
    Submitted, Subscription, Told, TreeHead,
};

/// One of the backends. A new one is a new variant, and the compiler lists what it owes.
#[derive(Debug)]
pub enum Backend {
    /// A file of this machine.
    Sqlite(SqliteStore),
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        impl Store for Backend {
            $(async fn $name(&self, $($arg: $type),*) -> $out {
                match self {
                    Backend::Sqlite(store) => store.$name($($arg),*).await,
                }
            })*

            fn watch(&self) -> tokio::sync::broadcast::Receiver<Happening> {
                match self {
                    Backend::Sqlite(store) => store.watch(),
                }
            }
        }
    };
}

forward! {
    submit(new: NewRequest) -> Kept<Submitted>;
    apply(id: Id, event: Event, note: Note) -> Kept<Applied>;
    ended(id: Id) -> Kept<Stored>;
    request(id: Id) -> Kept<Option<Stored>>;
    known(requester: Requester, key: String) -> Kept<Option<Stored>>;
    pending() -> Kept<Vec<Stored>>;
    due() -> Kept<Vec<(Id, Timestamp)>>;
    find(query: Query) -> Kept<Page>;
    similar(agent: String, tool: (String, Tier), before: Id, since: Timestamp) -> Kept<Similar>;
    redeem(id: Id, agent: String, digest: CallDigest, note: Note) -> Kept<Redeemed>;
    outcome(id: Id, agent: String, outcome: String, note: Note) -> Kept<Stored>;
    pass(entry: Entry<'static>) -> Kept<()>;
    append(entries: Vec<Entry<'static>>) -> Kept<()>;
    give(grant: Grant, note: Note) -> Kept<()>;
    revoke_grant(id: Id, person: String, note: Note) -> Kept<bool>;
    grants(all: bool) -> Kept<Vec<Grant>>;
    begin_crisis(crisis: Crisis, note: Note) -> Kept<()>;
    lift_crisis(agent: String, session: String, person: String, note: Note) -> Kept<bool>;
    crises() -> Kept<Vec<Crisis>>;
    keep_person(person: Person, note: Note) -> Kept<()>;
    people() -> Kept<Vec<Person>>;
    keep_agent(agent: Agent, note: Note) -> Kept<()>;
    agents() -> Kept<Vec<Agent>>;
    keep_login(login: Login, note: Note) -> Kept<()>;
    logins() -> Kept<Vec<Login>>;
    keep_account(account: Account, note: Note) -> Kept<()>;
    accounts() -> Kept<Vec<Account>>;
    keep_passkey(passkey: Passkey, note: Note) -> Kept<()>;
    passkeys() -> Kept<Vec<Passkey>>;
    keep_subscription(subscription: Subscription, note: Note) -> Kept<()>;
    subscriptions() -> Kept<Vec<Subscription>>;
    outbox(after: u64, limit: u32) -> Kept<Vec<Outgoing>>;
    attempted(attempt: Attempt, note: Note) -> Kept<()>;
    undelivered(channel: String, message: String, why: String, note: Note) -> Kept<Option<Id>>;
    deliveries(request: Id) -> Kept<Vec<Delivery>>;
    entries(from: u64, limit: u32) -> Kept<Slice>;
    story(request: Id) -> Kept<Vec<Told>>;
    tree_head() -> Kept<TreeHead>;
    inclusion(index: u64, size: u64) -> Kept<Found>;
    consistency(old: u64, new: u64) -> Kept<Found>;
    keep_checkpoint(size: u64, note: String) -> Kept<()>;
    checkpoint() -> Kept<Option<String>>;
    healthy() -> bool;
    close() -> Kept<()>;
}
