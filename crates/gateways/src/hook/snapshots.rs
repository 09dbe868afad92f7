//! Snapshots of the files that a call is about to change, so that a person can undo the call.
//!
//! A call without a snapshot runs all the same: only what is known exactly can be undone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_json as json;
use countersign_json::canonical::Digest;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::file_changes::{ChangedFile, file_changes};
use countersign_risk::summary::brief;
use countersign_risk::verdict::Policy;
use countersign_snapshot::{
    PathChange, Retention, SnapshotLabel, SnapshotLimits, SnapshotRecord, SnapshotStore, changes,
};

use crate::agents::{CompletedCall, HookAnswer, ProposedCall};

/// The folder of the snapshots in the folder of the gateways.
const FOLDER: &str = "undo";
/// How often old snapshots are removed.
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);

/// Takes snapshots before calls and completes them afterwards.
#[derive(Debug, Clone)]
pub struct CallSnapshots {
    folder: PathBuf,
    store: SnapshotStore,
    retention: Retention,
    /// How long a person has time to look at a call that ran first; none if no call runs first.
    review: Option<Duration>,
}

impl CallSnapshots {
    /// The snapshots in the folder of the gateways.
    pub fn in_folder(gateways: &Path, retention: Retention) -> CallSnapshots {
        let folder = gateways.join(FOLDER);
        let store = SnapshotStore::at(folder.clone());
        CallSnapshots { store, folder, retention, review: None }
    }

    /// The same where calls may run before a person looks at them, for this long.
    #[must_use]
    pub fn with_review(self, review: Option<Duration>) -> CallSnapshots {
        CallSnapshots { review, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes a snapshot before the daemon is asked, if calls may run first.
    pub fn before_question(
        &self,
        agent: &str,
        call: &ProposedCall,
        end: Instant,
    ) -> Option<SnapshotRecord> {
        self.review.and_then(|_| self.take(agent, call, end))
    }

    /// Keeps a snapshot while its call is under review. False if a file changed since.
    pub fn hold(&self, record: &SnapshotRecord) -> bool {
        let window = self.review.map_or(0, |review| review.as_millis());
        let until = now_ms().saturating_add(u64::try_from(window).unwrap_or(u64::MAX));
        self.store.check_current(record).is_ok() && self.store.hold(record, until).is_ok()
    }

    /// The store.
    pub fn store(&self) -> &SnapshotStore {
        &self.store
    }

    /// Takes a snapshot if the call is about to run and all files that it changes are known.
    /// It ends before `end`.
    pub fn before_run(&self, agent: &str, call: &ProposedCall, answer: &HookAnswer, end: Instant) {
        let edited = match answer {
            HookAnswer::Pass | HookAnswer::Approved { edited: None } => None,
            HookAnswer::Approved { edited: Some(text) } => Some(text),
            _ => return,
        };
        let arguments = edited.unwrap_or(&call.arguments).clone();
        let _ = self.take(agent, &ProposedCall { arguments, ..call.clone() }, end);
    }

    /// The same for the calls of a turn. Calls that change the same files get none: each snapshot
    /// would be from before the first of them.
    pub fn before_batch(
        &self,
        agent: &str,
        calls: &[ProposedCall],
        answer: &HookAnswer,
        end: Instant,
    ) {
        let HookAnswer::Planned { answers, .. } = answer else { return };
        let all: Vec<Option<(SnapshotLabel, Vec<PathBuf>)>> =
            calls.iter().map(|call| plan(agent, call)).collect();
        for (at, (call, answer)) in calls.iter().zip(answers).enumerate() {
            let own = all.get(at).and_then(Option::as_ref);
            let Some((_, paths)) = own else { continue };
            let others = all.iter().enumerate().filter(|(other, _)| *other != at);
            let overlaps = |list: &[PathBuf]| {
                list.iter().any(|a| paths.iter().any(|b| a.starts_with(b) || b.starts_with(a)))
            };
            let mut others = others.filter_map(|(_, other)| other.as_ref());
            if !others.any(|(_, list)| overlaps(list)) {
                self.before_run(agent, call, answer, end);
            }
        }
    }

    /// Takes a snapshot of the files that a call changes. None if they are not all known, there
    /// are none, or no snapshot can be made.
    fn take(&self, agent: &str, call: &ProposedCall, end: Instant) -> Option<SnapshotRecord> {
        let (label, paths) = plan(agent, call)?;
        let usual = SnapshotLimits::BEFORE_CALL;
        // Half for the lock and half for the work.
        let left = end.saturating_duration_since(Instant::now()) / 2;
        let limits = SnapshotLimits { time: usual.time.min(left), ..usual };
        self.store.take(label, &paths, limits, now_ms()).ok()
    }

    /// Records what a call left, and returns it if the call is under review. Any other call that
    /// changed nothing leaves no snapshot.
    pub fn after_run(&self, done: &CompletedCall) -> Option<SnapshotRecord> {
        let record = self.store.unfinished(&call_key(&done.call))?;
        let limits = SnapshotLimits::BEFORE_CALL;
        let record = self.store.record_after(&record, limits, now_ms()).ok();
        let reviewed = record.filter(|record| {
            let is_held = record.is_held(now_ms());
            if !is_held
                && let Some(after) = &record.after
                && !changes(&record.before, &after.tree).iter().any(PathChange::is_visible)
            {
                self.store.discard(record);
            }
            is_held
        });
        self.prune_if_due();
        reviewed
    }

    fn prune_if_due(&self) {
        let mark = self.folder.join("pruned");
        let at = std::fs::metadata(&mark).and_then(|found| found.modified());
        // A time in the future is ignored, so that nothing is kept for ever.
        if at.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < PRUNE_INTERVAL)) {
            return;
        }
        if std::fs::write(&mark, "").is_ok() {
            let _ = self.store.prune(self.retention, now_ms());
        }
    }
}

/// The label of a call's snapshot, and the paths that it changes.
fn plan(agent: &str, proposed: &ProposedCall) -> Option<(SnapshotLabel, Vec<PathBuf>)> {
    let tool = serde_json::to_string(&proposed.tool).ok()?;
    let text = format!("{{\"tool\":{tool},\"arguments\":{}}}", proposed.arguments);
    let value = json::parse(&text).ok()?;
    let mut call = Call::from_json(&value).ok()?;
    call.context.cwd = proposed.cwd.as_deref();
    call.context.project = proposed.project.as_deref();
    call.context.host = proposed.host;
    let seen = assess(&call, &Policy::default());
    let mut paths: Vec<PathBuf> = file_changes(&call, &seen)?.iter().filter_map(place).collect();
    paths.sort();
    paths.dedup();
    let label = SnapshotLabel {
        agent: agent.to_owned(),
        session: proposed.session.clone(),
        tool: proposed.tool.clone(),
        summary: brief(&call, &seen),
        call_key: call_key(proposed),
        undo_of: None,
    };
    (!paths.is_empty()).then_some((label, paths))
}

/// The path that is changed on this machine.
fn place(file: &ChangedFile) -> Option<PathBuf> {
    file.place(|path| Path::new(path).is_dir()).map(PathBuf::from)
}

/// The same text for a call before and after it ran: the agent's own id, else what it says.
fn call_key(call: &ProposedCall) -> String {
    let session = call.session.as_deref().unwrap_or_default();
    let text = match &call.call_id {
        Some(id) => format!("id\0{session}\0{id}"),
        None => format!("call\0{session}\0{}\0{}", call.tool, call.arguments),
    };
    Digest::of(text.as_bytes()).to_string()
}

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "only for the list of snapshots and their age")]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(project: &Path, name: &str) -> ProposedCall {
        let path = project.join(name).display().to_string();
        ProposedCall {
            tool: "Write".to_owned(),
            arguments: format!(r#"{{"file_path":"{path}","content":"after"}}"#),
            session: Some("s".to_owned()),
            cwd: Some(project.display().to_string()),
            host: Some("claude-code"),
            ..ProposedCall::default()
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    fn snapshots(folder: &Path) -> CallSnapshots {
        let retention = Retention { age_ms: u64::MAX, bytes: u64::MAX, count: 100 };
        CallSnapshots::in_folder(&folder.join("gateways"), retention)
    }

    fn done(call: ProposedCall) -> CompletedCall {
        CompletedCall { call, ..CompletedCall::default() }
    }

    #[test]
    fn a_write_can_be_undone_and_a_call_that_changed_nothing_leaves_no_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let snapshots = snapshots(&project);
        let file = project.join("a.txt");
        fs::write(&file, "before").unwrap();
        let call = write(&project, "a.txt");
        snapshots.before_run("claude", &call, &HookAnswer::Pass, soon());
        fs::write(&file, "after").unwrap();
        snapshots.after_run(&done(call.clone()));
        let all = snapshots.store().records().unwrap();
        let [record] = all.as_slice() else { panic!("{} snapshots", all.len()) };
        assert!(record.after.is_some() && record.label.summary.contains("a.txt"));
        snapshots.store().restore(&record.id, false, now_ms()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");

        let before = snapshots.store().records().unwrap().len();
        snapshots.before_run("claude", &call, &HookAnswer::Approved { edited: None }, soon());
        snapshots.after_run(&done(call));
        assert_eq!(snapshots.store().records().unwrap().len(), before);
    }

    #[test]
    fn what_does_not_run_or_is_not_known_has_no_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let snapshots = snapshots(&project);
        let call = write(&project, "a.txt");
        snapshots.before_run("claude", &call, &HookAnswer::Denied("no".to_owned()), soon());
        let arguments = r#"{"command":"make"}"#.to_owned();
        let make = ProposedCall { tool: "Bash".to_owned(), arguments, ..call };
        snapshots.before_run("claude", &make, &HookAnswer::Pass, soon());
        assert!(snapshots.store().records().unwrap().is_empty());
    }

    #[test]
    fn calls_of_one_turn_that_change_the_same_file_have_no_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let snapshots = snapshots(&project);
        let calls = ["a", "a", "b"].map(|name| write(&project, name));
        let answers = vec![HookAnswer::Pass; 3];
        let planned = HookAnswer::Planned { stages: vec![vec![0], vec![1], vec![2]], answers };
        snapshots.before_batch("claude", &calls, &planned, soon());
        let all = snapshots.store().records().unwrap();
        let roots: Vec<_> = all.iter().flat_map(SnapshotRecord::root_paths).collect();
        assert_eq!(roots, [project.join("b")]);
    }
}
