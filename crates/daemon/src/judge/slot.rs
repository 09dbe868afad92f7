//! The judge in use, which a reload replaces, and the queue of opinions for the background.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use countersign_store::StoredRequest;
use countersign_types::id::Id;
use tokio::sync::mpsc;

use super::bounded_set::BoundedMap;
use super::exchange_log::ExchangeLog;
use super::model_judge::ModelJudge;
use super::opinion::JudgeQuestion;
use super::shown_opinion::ShownOpinion;
use crate::config::JudgeConfig;

/// The most opinions that wait; further requests get none.
const MAX_WAITING: usize = 256;
/// The most opinions that people see; the ledger has all of them.
const MAX_SHOWN: usize = 2_000;

/// An opinion to form while a person is asked.
#[derive(Debug)]
pub struct OpinionJob {
    /// The request.
    pub request: Id,
    /// The question.
    pub question: JudgeQuestion,
    /// The judge that was in use.
    pub judge: Arc<ModelJudge>,
}

/// The judge in use.
#[derive(Debug)]
pub struct JudgeSlot {
    current: RwLock<Option<Arc<ModelJudge>>>,
    folder: OnceLock<PathBuf>,
    jobs: mpsc::Sender<OpinionJob>,
    waiting: Mutex<Option<mpsc::Receiver<OpinionJob>>>,
    shown: Box<Mutex<BoundedMap<Id, ShownOpinion>>>,
}

impl Default for JudgeSlot {
    fn default() -> JudgeSlot {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let waiting = Mutex::new(Some(waiting));
        let shown = Box::new(Mutex::new(BoundedMap::new(MAX_SHOWN)));
        JudgeSlot { current: RwLock::default(), folder: OnceLock::new(), jobs, waiting, shown }
    }
}

impl JudgeSlot {
    /// Sets the folder for the exchanges with the model; once, at the start.
    pub fn set_folder(&self, folder: PathBuf) {
        let _ = self.folder.set(folder);
    }

    /// Uses the configured judge, or none. The one in use stays if nothing changed, with all that
    /// it knows.
    pub fn configure(&self, config: Option<&JudgeConfig>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().map(|judge| judge.config()) == config {
            return;
        }
        *current = config.and_then(|config| match ModelJudge::new(config.clone()) {
            Ok(judge) => Some(Arc::new(judge)),
            Err(error) => {
                tracing::error!(error, "the model judge is off: people are asked about every call");
                None
            }
        });
    }

    /// The judge in use.
    pub fn current(&self) -> Option<Arc<ModelJudge>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The exchanges with the model.
    pub fn exchanges(&self) -> Option<ExchangeLog> {
        self.folder.get().cloned().map(ExchangeLog::new)
    }

    /// Queues an opinion, or drops it: the gate never waits for the judge's background.
    pub fn queue(&self, job: OpinionJob) -> bool {
        self.jobs.try_send(job).is_ok()
    }

    /// Shows people an opinion that came while they were asked.
    pub fn show(&self, id: Id, opinion: &ShownOpinion) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.entry(id, || opinion.clone()).clone_from(opinion);
    }

    /// The opinion on a request that people see: the one that came before they were asked, or the
    /// one that came meanwhile.
    pub fn shown(&self, stored: &StoredRequest) -> Option<ShownOpinion> {
        // The judge was asked about the original call.
        if stored.request.proposal.is_some() {
            return None;
        }
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.get(&stored.request.id).cloned().or_else(|| {
            let detail: serde_json::Value = serde_json::from_str(&stored.detail).ok()?;
            ShownOpinion::read(detail.get("judge")?, stored.request.tier)
        })
    }

    /// The queue, for the one task that works on it.
    pub fn take_jobs(&self) -> Option<mpsc::Receiver<OpinionJob>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
