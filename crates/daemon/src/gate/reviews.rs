//! What becomes of calls that ran first: their result, kept, rolled back, or not looked at in time.

use countersign_json::canonical::Digest;
use countersign_risk::call::Call;
use countersign_risk::facts::snapshot_claim::{SnapshotClaim, SnapshotMoment};
use countersign_snapshot::{
    PathChange, RecordedSnapshot, RestorePlan, SnapshotError, SnapshotStore, encode_path,
};
use countersign_store::{Store as _, StoreError, StoredReview, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::review::{ReviewEvent, ReviewState};

use super::state::Gate;

/// The most paths that an error lists.
const MAX_PATHS: usize = 20;

/// Why changes were not rolled back.
#[derive(Debug, thiserror::Error)]
pub enum RollBackError {
    /// The review has ended, or the store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// Files changed again after the call.
    #[error("nothing was rolled back: these files changed again after the call: {}", .0.join(", "))]
    Conflicts(Vec<String>),
    /// The snapshot was changed, is damaged, or cannot be reached.
    #[error("nothing was rolled back: {0}")]
    Snapshot(String),
}

/// The snapshot of a review, as it was recorded.
fn recorded(review: &StoredReview) -> RecordedSnapshot {
    RecordedSnapshot {
        id: review.snapshot.clone(),
        before: review.before.to_string(),
        after: review.after.map(|digest| digest.to_string()),
    }
}

impl Gate {
    /// One review.
    pub async fn review(&self, id: Id) -> Result<StoredReview, StoreError> {
        self.store.review(id).await?.ok_or(StoreError::NotFound("review"))
    }

    /// A person keeps what a call changed.
    pub async fn keep_review(&self, id: Id, person: &str) -> Result<StoredReview, StoreError> {
        self.review(id).await?;
        let event = ReviewEvent::Keep { person: person.to_owned() };
        self.store.apply_review(id, event, self.note()).await
    }

    /// A person rejects what a call changed: its files are restored as they were. Files that
    /// changed again after the call are only replaced with `force`.
    pub async fn roll_back(
        &self,
        id: Id,
        person: &str,
        force: bool,
        note: WriteContext,
    ) -> Result<StoredReview, RollBackError> {
        let _one_at_a_time = self.rolling_back.lock().await;
        self.review(id).await?;
        let event = ReviewEvent::Reject { person: person.to_owned(), force };
        let review = self.store.apply_review(id, event, note).await?;
        tracing::warn!(%id, person, "a person rejected a call that ran first");
        self.restore_files(review).await
    }

    async fn restore_files(&self, review: StoredReview) -> Result<StoredReview, RollBackError> {
        let now_ms = u64::try_from(self.clock.now().at.0).unwrap_or(0);
        let (id, wanted, force) = (review.request, recorded(&review), review.force);
        let folder = review.folder;
        let work =
            move || SnapshotStore::at(folder.into()).restore_recorded(&wanted, force, now_ms);
        let restored = tokio::task::spawn_blocking(work).await;
        let failure = match restored {
            Ok(Ok(report)) => {
                let files = u32::try_from(report.restored.len()).unwrap_or(u32::MAX);
                let event = ReviewEvent::RolledBack { files };
                return Ok(self.store.apply_review(id, event, self.note()).await?);
            }
            Ok(Err(SnapshotError::Conflicts(paths))) => {
                let shown = paths.iter().take(MAX_PATHS).map(|path| encode_path(path));
                RollBackError::Conflicts(shown.collect())
            }
            Ok(Err(error)) => RollBackError::Snapshot(error.to_string()),
            Err(error) => RollBackError::Snapshot(error.to_string()),
        };
        tracing::error!(%id, error = %failure, "a call that ran first was not rolled back");
        let event = ReviewEvent::RollBackFailed { why: failure.to_string() };
        self.store.apply_review(id, event, self.note()).await?;
        Err(failure)
    }

    /// Records what a call left, as its hook reports it. Claims that the hook cannot prove, or that
    /// the snapshot contradicts, are ignored.
    pub async fn record_review_result(
        &self,
        id: Id,
        claim: &SnapshotClaim,
        call: &Call<'_>,
    ) -> Result<(), StoreError> {
        let Some(review) = self.store.review(id).await? else { return Ok(()) };
        let is_same = review.snapshot == claim.id && review.folder == claim.folder;
        let key = self.facts_key.get();
        let proven =
            key.is_some_and(|key| claim.is_proven(key, SnapshotMoment::After, &call.claimed()));
        if review.state != ReviewState::Open || !is_same || !proven {
            return Ok(());
        }
        let after = claim.digest;
        let wanted = RecordedSnapshot { after: Some(after.to_string()), ..recorded(&review) };
        let folder = review.folder;
        let work =
            move || SnapshotStore::at(folder.into()).recorded(&wanted).map(|it| changes(&it));
        let Ok(Ok(changed)) = tokio::task::spawn_blocking(work).await else {
            tracing::warn!(%id, "the result of a call under review is not as its hook says");
            return Ok(());
        };
        let event = ReviewEvent::Result { after: *Digest::as_bytes(&after), changed };
        match self.store.apply_review(id, event, self.note()).await {
            // A person was faster.
            Ok(_) | Err(StoreError::Invalid(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What a call changed, and what restoring would do now.
    pub async fn review_plan(&self, review: &StoredReview) -> Result<RestorePlan, SnapshotError> {
        let (wanted, folder) = (recorded(review), review.folder.clone());
        let id = review.snapshot.clone();
        let work = move || SnapshotStore::at(folder.into()).plan_recorded(&wanted);
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(SnapshotError::NotFound(id)))
    }

    /// Ends the reviews whose time is over, and completes roll-backs that were interrupted.
    pub async fn follow_reviews(&self) -> Result<(), StoreError> {
        let now = self.clock.now().at;
        let open = self.store.reviews(None).await?;
        for review in open.iter().filter(|review| review.state == ReviewState::Open) {
            if review.until <= now {
                let event = ReviewEvent::WindowEnded;
                match self.store.apply_review(review.request, event, self.note()).await {
                    // A person was faster.
                    Ok(_) | Err(StoreError::Invalid(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if open.iter().any(|review| review.state == ReviewState::RollingBack) {
            self.resume_roll_backs().await?;
        }
        Ok(())
    }

    async fn resume_roll_backs(&self) -> Result<(), StoreError> {
        // No roll-back is running while this is held: what is not done was interrupted.
        let _one_at_a_time = self.rolling_back.lock().await;
        for review in self.store.reviews(None).await? {
            if review.state != ReviewState::RollingBack {
                continue;
            }
            let review = self.review(review.request).await?;
            if let Err(RollBackError::Store(error)) = self.restore_files(review).await {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Whether a call changed more than times.
fn changes(record: &countersign_snapshot::SnapshotRecord) -> bool {
    let Some(after) = &record.after else { return true };
    let list = countersign_snapshot::changes(&record.before, &after.tree);
    list.iter().any(PathChange::is_visible)
}
