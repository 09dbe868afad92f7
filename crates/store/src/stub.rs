//! stub
#![allow(unused)]
use super::*;
use std::sync::Arc;use std::path::Path;use countersign_core::time::*;
pub struct Backend;
#[derive(Default)] pub struct Options{pub strict:bool}
pub struct Opened;
impl Backend{pub fn open(_:&Path,_:Arc<dyn Clock>,_:Options)->Result<Backend,OpenError>{todo!()} pub fn newest_time(&self)->Timestamp{todo!()}}
impl Store for Backend {
    async fn submit(&self, new: NewRequest) -> Kept<Submitted> { todo!() }
    async fn apply(&self, id: Id, event: Event, note: Note) -> Kept<Applied> { todo!() }
    async fn ended(&self, id: Id) -> Kept<Stored> { todo!() }
    async fn request(&self, id: Id) -> Kept<Option<Stored>> { todo!() }
    async fn pending(&self) -> Kept<Vec<Stored>> { todo!() }
    async fn find(&self, query: Query) -> Kept<Page> { todo!() }
    async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        note: Note,
    ) -> Kept<Redeemed> { todo!() }
    async fn outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        note: Note,
    ) -> Kept<Stored> { todo!() }
    async fn pass(&self, entry: Entry<'static>) -> Kept<()> { todo!() }
    async fn append(&self, entries: Vec<Entry<'static>>) -> Kept<()> { todo!() }
    async fn give(&self, grant: Grant, note: Note) -> Kept<()> { todo!() }
    async fn revoke_grant(
        &self,
        id: Id,
        person: String,
        note: Note,
    ) -> Kept<bool> { todo!() }
    async fn grants(&self, all: bool) -> Kept<Vec<Grant>> { todo!() }
    async fn begin_crisis(&self, crisis: Crisis, note: Note) -> Kept<()> { todo!() }
    async fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        note: Note,
    ) -> Kept<bool> { todo!() }
    async fn crises(&self) -> Kept<Vec<Crisis>> { todo!() }
    async fn keep_person(&self, person: Person, note: Note) -> Kept<()> { todo!() }
    async fn people(&self) -> Kept<Vec<Person>> { todo!() }
    async fn keep_agent(&self, agent: Agent, note: Note) -> Kept<()> { todo!() }
    async fn agents(&self) -> Kept<Vec<Agent>> { todo!() }
    async fn keep_login(&self, login: Login, note: Note) -> Kept<()> { todo!() }
    async fn logins(&self) -> Kept<Vec<Login>> { todo!() }
    async fn outbox(&self, limit: u32) -> Kept<Vec<Outgoing>> { todo!() }
    async fn attempted(&self, attempt: Attempt, note: Note) -> Kept<()> { todo!() }
    async fn deliveries(&self, request: Id) -> Kept<Vec<Delivery>> { todo!() }
    async fn entries(&self, from: u64, limit: u32) -> Kept<Slice> { todo!() }
    async fn tree_head(&self) -> Kept<TreeHead> { todo!() }
    async fn inclusion(&self, index: u64, size: u64) -> Kept<Found> { todo!() }
    async fn consistency(&self, old: u64, new: u64) -> Kept<Found> { todo!() }
    async fn keep_checkpoint(&self, size: u64, note: String) -> Kept<()> { todo!() }
    async fn checkpoint(&self) -> Kept<Option<String>> { todo!() }
    fn watch(&self) -> tokio::sync::broadcast::Receiver<Happening> { todo!() }
    async fn healthy(&self) -> bool { todo!() }
    async fn close(&self) -> Kept<()> { todo!() }
}
