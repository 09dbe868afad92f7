//! A node: takes tasks from peers, keeps them, and tells their senders what became of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use countersign_store::{TaskFile, TaskFileError, TaskInsert, WrittenChange};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use tokio::sync::{Semaphore, watch};
use tokio::task::block_in_place;

use crate::boot::current_boot;
use crate::chain::{chain_of, without_chain};
use crate::clock::now;
use crate::error::A2aError;
use crate::executor::TaskExecutor;
use crate::gate::NodeGate;
use crate::methods::NewTask;
use crate::peer::Connection;
use crate::policy::{PeerLimits, PeerPolicies};
use crate::push_sender::PushSender;
use crate::state::TaskState;
use crate::task::DelegatedTask;
use crate::turns::PeerTurns;

/// The status of a task that was running when the node stopped.
const STOPPED: &str = "the node stopped while the task ran; it is not started again";
/// How many decisions are waited for at the daemon at once; the others are asked for in turn.
const WAITERS: usize = 32;
/// How many questions that are answered at once are sent to the daemon at the same time.
const ASKERS: usize = 16;
const ASKERS_OF_PEER: usize = 4;
/// From how many watched tasks on those without a watcher are forgotten.
const MAX_IDLE: usize = 1024;

/// The settings of a node.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// The agent's own name.
    pub name: String,
    /// How often a task may have been delegated.
    pub max_depth: usize,
    /// What each peer may ask, at the start.
    pub policies: PeerPolicies,
    /// How many tasks run at once.
    pub concurrent: usize,
    /// How long the sender of a task has to answer its question.
    pub answer_within: Duration,
    /// Whether push notifications may reach this machine and private networks.
    pub push_to_private: bool,
}

/// A node.
#[derive(Debug)]
pub struct A2aNode {
    pub(crate) settings: NodeSettings,
    pub(crate) gate: NodeGate,
    pub(crate) executor: TaskExecutor,
    pub(crate) waiters: Semaphore,
    pub(crate) askers: Semaphore,
    pub(crate) askers_of_peer: PeerTurns,
    /// How many tasks pause before they ask the daemon again.
    pub(crate) polled: AtomicUsize,
    pub(crate) runners: Semaphore,
    pub(crate) runners_of_peer: PeerTurns,
    pub(crate) push: PushSender,
    policies: RwLock<Arc<PeerPolicies>>,
    pub(crate) tasks: TaskFile,
    /// One for each task that a client watches or that is in progress.
    watched: Mutex<HashMap<String, watch::Sender<i64>>>,
}

impl A2aNode {
    /// Opens a node with its file of tasks.
    pub fn open(
        settings: NodeSettings,
        gate: NodeGate,
        executor: TaskExecutor,
        file: &Path,
    ) -> Result<Arc<A2aNode>, TaskFileError> {
        Ok(Arc::new(A2aNode {
            runners: Semaphore::new(settings.concurrent),
            runners_of_peer: PeerTurns::new(settings.concurrent),
            push: PushSender::new(settings.push_to_private),
            policies: RwLock::new(Arc::new(settings.policies.clone())),
            settings,
            gate,
            executor,
            waiters: Semaphore::new(WAITERS),
            askers: Semaphore::new(ASKERS),
            askers_of_peer: PeerTurns::new(ASKERS_OF_PEER),
            polled: AtomicUsize::new(0),
            tasks: TaskFile::open(file)?,
            watched: Mutex::default(),
        }))
    }

    /// Goes on with the tasks that were open when the node stopped.
    pub fn resume(self: &Arc<A2aNode>) -> Result<(), A2aError> {
        self.tasks.resume_push().map_err(|error| unavailable(&error))?;
        for row in self.tasks.open_tasks().map_err(|error| unavailable(&error))? {
            let task = DelegatedTask::from_row(&row)?;
            if task.may_have_run(current_boot()) {
                // It must not run twice.
                self.advance(&task.id, TaskState::Failed, STOPPED, |_| {})?;
                if let Some(request) = task.request {
                    let gate = self.gate.clone();
                    tokio::task::spawn_blocking(move || gate.report_stop(&request, STOPPED));
                }
            } else {
                tokio::spawn(Arc::clone(self).drive(task.id, WrittenChange::default()));
            }
        }
        Ok(())
    }

    /// Takes a task from a peer. It is on the disk when this returns.
    pub fn submit(
        self: &Arc<A2aNode>,
        connection: &Connection,
        new: NewTask,
    ) -> Result<DelegatedTask, A2aError> {
        self.take(connection, new, false)
    }

    /// Takes a task whose sender gets no answer before it has ended or asks a question. It is
    /// stored when this returns, and on the disk before it runs.
    pub(crate) fn submit_awaited(
        self: &Arc<A2aNode>,
        connection: &Connection,
        new: NewTask,
    ) -> Result<DelegatedTask, A2aError> {
        self.take(connection, new, true)
    }

    fn take(
        self: &Arc<A2aNode>,
        connection: &Connection,
        new: NewTask,
        is_awaited: bool,
    ) -> Result<DelegatedTask, A2aError> {
        let peer = connection.agent();
        if let Some(id) = new.task.clone() {
            return self.answer_question(peer, &id, &new);
        }
        let at = now();
        let (has_context, push) = (new.context.is_some(), new.push.clone());
        let mut task = self.received(peer, new, at)?;
        task.boot = current_boot().filter(|_| is_awaited).map(ToOwned::to_owned);
        let row = task.to_row(1)?;
        let config = match push {
            Some(config) => Some(self.accept_push(connection, &task.id, config)?.1),
            None => None,
        };
        let limits = self.limits(peer);
        if !limits.permits(&task.text) {
            return Err(A2aError::NotAllowed(format!("{peer} may not send this task")));
        }
        let counted = limits.counted(at);
        let (config, counted) = (config.as_ref(), Some(&counted));
        let stored = if is_awaited {
            self.look(|tasks| tasks.write_insert(&row, config, counted))
        } else {
            let stored = block_in_place(|| self.tasks.insert(&row, config, counted));
            stored.map(|stored| (stored, WrittenChange::default()))
        };
        match stored.map_err(|error| unavailable(&error))? {
            (TaskInsert::Stored, change) => {
                if is_awaited {
                    // The disk is written while the gate is asked.
                    self.sync_later();
                }
                tokio::spawn(Arc::clone(self).drive(task.id.clone(), change));
                Ok(task)
            }
            (TaskInsert::Repeated(row), _) => {
                self.sync()?;
                let known = DelegatedTask::from_row(&row)?;
                if known.is_same_message(&task, has_context) {
                    Ok(known)
                } else {
                    Err(A2aError::reused(task.message.as_deref().unwrap_or_default()))
                }
            }
            (TaskInsert::Refused(limit), _) => Err(limits.refusal(peer, limit)),
        }
    }

    /// The task of a message that arrives at this time; not stored yet.
    fn received(&self, peer: &str, new: NewTask, at: i64) -> Result<DelegatedTask, A2aError> {
        let chain = chain_of(&new.metadata, peer, &self.settings.name, self.settings.max_depth)?;
        let mut task = DelegatedTask {
            id: new_id(at)?,
            context: new.context.map_or_else(|| new_id(at), Ok)?,
            peer: peer.to_owned(),
            requester: new.requester,
            chain,
            text: new.text,
            message: new.message,
            // The chain was checked; nothing reads the claim again.
            metadata: without_chain(new.metadata),
            created: at,
            steps: Vec::new(),
            question: None,
            artifacts: Vec::new(),
            further: Vec::new(),
            reply: None,
            request: None,
            approved: None,
            boot: None,
        };
        task.advance(TaskState::Submitted, "Task submitted".to_owned(), at);
        Ok(task)
    }

    /// What a peer may ask now.
    pub(crate) fn limits(&self, peer: &str) -> PeerLimits {
        self.policies().limits(peer)
    }

    /// What each peer may ask now.
    pub(crate) fn policies(&self) -> Arc<PeerPolicies> {
        Arc::clone(&self.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses other policies from now on; returns whether they differ.
    pub(crate) fn set_policies(&self, new: PeerPolicies) -> bool {
        let mut policies = self.policies.write().unwrap_or_else(PoisonError::into_inner);
        let differ = **policies != new;
        *policies = Arc::new(new);
        differ
    }

    /// A task of this peer. Another peer's task does not exist for it.
    pub fn task(&self, peer: &str, id: &str) -> Result<DelegatedTask, A2aError> {
        let task = self.any_task(id)?;
        if task.peer == peer { Ok(task) } else { Err(A2aError::TaskNotFound(id.to_owned())) }
    }

    pub(crate) fn any_task(&self, id: &str) -> Result<DelegatedTask, A2aError> {
        Ok(self.stored_task(id)?.0)
    }

    /// A task and its version.
    pub(crate) fn stored_task(&self, id: &str) -> Result<(DelegatedTask, i64), A2aError> {
        let row = self.look(|tasks| tasks.get(id)).map_err(|error| unavailable(&error))?;
        let row = row.ok_or_else(|| A2aError::TaskNotFound(id.to_owned()))?;
        Ok((DelegatedTask::from_row(&row)?, row.version))
    }

    /// Cancels a task of this peer.
    pub fn cancel(self: &Arc<A2aNode>, peer: &str, id: &str) -> Result<DelegatedTask, A2aError> {
        let task = self.task(peer, id)?;
        let canceled = self.advance(&task.id, TaskState::Canceled, "Task canceled", |_| {})?;
        let canceled = canceled.ok_or(A2aError::NotCancelable)?;
        if let Some(question) = canceled.question.clone() {
            let gate = self.gate.clone();
            tokio::task::spawn_blocking(move || gate.withdraw(&question.request));
        }
        Ok(canceled)
    }

    /// Changes with every new state of a task.
    pub fn watch(&self, id: &str) -> watch::Receiver<i64> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() > MAX_IDLE {
            // Tasks that had ended before a client looked at them.
            watched.retain(|_, sender| sender.receiver_count() > 0);
        }
        watched.entry(id.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    pub(crate) fn notify(&self, id: &str, version: i64, ended: bool) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(id) {
            sender.send_replace(version);
        }
        if ended {
            watched.remove(id);
        }
    }
}

/// A new id: 80 random bits after the time.
pub(crate) fn new_id(at: i64) -> Result<String, A2aError> {
    let mut random = [0; 10];
    getrandom::fill(&mut random)
        .map_err(|_| A2aError::Unavailable("this machine gives no randomness".to_owned()))?;
    Ok(Id::new(Timestamp(at), random).to_string())
}

pub(crate) fn unavailable(error: &TaskFileError) -> A2aError {
    tracing::error!(%error, "a task was not stored or read");
    A2aError::Unavailable("the node cannot store tasks now".to_owned())
}
