//! The gate and its parts. The other files of this folder add the steps of a call.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use countersign_risk::facts::FactsKey;
use countersign_risk::verdict::Mode;
use countersign_store::{Backend, Store as _, StoreError};
use countersign_types::time::Clock as _;

use super::api_policy::ApiRulesFile;
use super::call_projects::ProjectRules;
use super::card_settings::PublishedCardSettings;
use super::confirmed_policy::ConfirmedPolicy;
use super::crisis_sessions::CrisisSessions;
use super::crisis_turns::CrisisTurns;
use super::deduplication::Deduplication;
use super::flood::FloodControl;
use super::freeze_state::FreezeState;
use super::grants::GrantCache;
use super::integrity_state::Integrity;
use super::label_memory::ToolLabels;
use super::news::GateNews;
use super::open_drill::OpenDrill;
use super::policy_demands::has_project_routes;
use super::policy_marker::PolicyMarker;
use super::requested_settings::WaitingSettings;
use super::session_concerns::SessionConcerns;
use super::session_memory::SessionMemories;
use super::session_words::SessionWords;
use super::waiters::Waiters;
use crate::clock::DaemonClock;
use crate::config::DaemonRules;
use crate::judge::JudgeSlot;
use crate::metrics::Metrics;

/// The gate.
pub struct Gate {
    pub(super) store: Arc<Backend>,
    pub(super) clock: Arc<DaemonClock>,
    pub(super) rules: RwLock<Arc<DaemonRules>>,
    pub(super) crises: CrisisSessions,
    pub(super) crisis_turns: CrisisTurns,
    pub(super) concerns: Box<SessionConcerns>,
    pub(super) session_words: SessionWords,
    pub(super) grants: GrantCache,
    pub(super) flood: FloodControl,
    pub(super) deduplication: Deduplication,
    pub(super) waiters: Waiters,
    pub(super) session_memories: SessionMemories,
    pub(super) tool_labels: ToolLabels,
    pub(super) open_drill: OpenDrill,
    pub(super) integrity: Integrity,
    pub(super) freeze: FreezeState,
    pub(super) policy_marker: PolicyMarker,
    pub(super) card_settings: PublishedCardSettings,
    pub(super) confirmed_policy: OnceLock<ConfirmedPolicy>,
    pub(super) projects: Arc<ProjectRules>,
    /// Whether a project may announce to channels of its own.
    pub(super) project_routes: AtomicBool,
    pub(super) api_rules: ApiRulesFile,
    /// Held from reading until replacing the rules in force, the adopted projects or what waits for
    /// a person: a change that is based on other rules would undo a change made meanwhile.
    pub(super) changing_rules: tokio::sync::Mutex<()>,
    pub(super) requested_mode: RwLock<Option<Mode>>,
    pub(super) waiting_settings: OnceLock<WaitingSettings>,
    pub(super) metrics: Metrics,
    pub(super) facts_key: OnceLock<FactsKey>,
    pub(super) judge: JudgeSlot,
    pub(super) news: GateNews,
    /// Held while files are restored.
    pub(super) rolling_back: tokio::sync::Mutex<()>,
}

impl Gate {
    /// Opens a gate with the state in the store.
    pub async fn open(
        store: Arc<Backend>,
        clock: Arc<DaemonClock>,
        rules: DaemonRules,
    ) -> Result<Gate, StoreError> {
        let crises = CrisisSessions::restore(&store).await?;
        let grants = GrantCache::default();
        grants.read(&store).await?;
        let session_memories = SessionMemories::restore(store.session_memories().await?);
        let tool_labels = ToolLabels::default();
        tool_labels.read(&store).await?;
        let pending = store.pending().await?;
        let (flood, open_drill) = (FloodControl::new(&pending), OpenDrill::new(&pending));
        let judge = JudgeSlot::default();
        judge.configure(rules.judge.as_ref());
        let (rules, metrics) = (RwLock::new(Arc::new(rules)), Metrics::default());
        let deduplication = Deduplication::restore(&store, clock.now().at).await?;
        Ok(Gate {
            store,
            clock,
            rules,
            crises,
            crisis_turns: CrisisTurns::default(),
            concerns: Box::default(),
            session_words: SessionWords::default(),
            grants,
            flood,
            deduplication,
            waiters: Waiters::default(),
            session_memories,
            tool_labels,
            open_drill,
            integrity: Integrity::default(),
            freeze: FreezeState::default(),
            policy_marker: PolicyMarker::default(),
            card_settings: PublishedCardSettings::default(),
            confirmed_policy: OnceLock::new(),
            projects: Arc::default(),
            project_routes: AtomicBool::new(has_project_routes(&pending)),
            api_rules: ApiRulesFile::default(),
            changing_rules: tokio::sync::Mutex::default(),
            requested_mode: RwLock::default(),
            waiting_settings: OnceLock::new(),
            metrics,
            facts_key: OnceLock::new(),
            judge,
            news: GateNews::default(),
            rolling_back: tokio::sync::Mutex::default(),
        })
    }

    /// Sets the key with which the hook proves what it found. Without it, facts can only raise.
    pub fn set_facts_key(&self, key: FactsKey) {
        // It is set once, when the daemon starts.
        let _ = self.facts_key.set(key);
    }

    /// The model judge, if one is in use.
    pub fn judge(&self) -> &JudgeSlot {
        &self.judge
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<DaemonRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of pending requests.
    pub fn open_requests(&self) -> usize {
        self.flood.open()
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The store.
    pub fn store(&self) -> &Backend {
        &self.store
    }

    /// The clock.
    pub fn clock(&self) -> &DaemonClock {
        &self.clock
    }

    /// Recent requests.
    pub fn deduplication(&self) -> &Deduplication {
        &self.deduplication
    }

    /// The last turns of conversations in a crisis.
    pub fn crisis_turns(&self) -> &CrisisTurns {
        &self.crisis_turns
    }

    /// Sessions in crisis.
    pub fn crises(&self) -> &CrisisSessions {
        &self.crises
    }

    /// Signs in the recent messages of each session.
    pub fn concerns(&self) -> &SessionConcerns {
        &self.concerns
    }

    /// What the gate did by itself and people should hear of.
    pub fn news(&self) -> &GateNews {
        &self.news
    }

    /// Grants.
    pub fn grants(&self) -> &GrantCache {
        &self.grants
    }
}
