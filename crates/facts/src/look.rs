//! One look: every question in turn, on a thread that is left behind if it does not come back.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::facts::{
    CallFacts, Fact, FactAnswer, FactObserver, FactQuery, MAX_QUERIES, PlanTool, UnknownReason,
};
use countersign_risk::verdict::Policy;

use crate::git::Repositories;
use crate::limits::{Budget, LookEnd, LookLimits};
use crate::local_look::{LocalLook, LookPlace};
use crate::{current, files, make, package, path, plan, script};

/// How often new questions are answered: a script may start another one.
const MAX_ROUNDS: usize = 3;
/// How many threads may hang in the file system before no further look is started.
const MAX_HANGING: usize = 8;
/// The threads that run a look.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Answers the questions in order, within the limits. Every question has an answer; after the time
/// it is that nothing is known.
pub fn look(
    queries: &[FactQuery],
    place: &LookPlace,
    limits: LookLimits,
    observer: FactObserver,
) -> CallFacts {
    let found = look_until(queries, place, limits, LookEnd::of(&limits));
    CallFacts { found, ..CallFacts::none(observer) }
}

/// Assesses a call, looks at what the assessment asks about, and assesses it again until nothing
/// new is asked: a script may start another one. Everything together stays within the limits.
pub fn assess_with_look(
    call: &Call<'_>,
    policy: &Policy,
    place: &LookPlace,
    limits: LookLimits,
    observer: FactObserver,
) -> (Assessment, Arc<CallFacts>) {
    let all = |call: &Call<'_>| Ok::<_, Infallible>(assess(call, policy));
    let Ok(seen) = assess_with_look_by(all, call, place, limits, observer);
    seen
}

/// The same with another assessment, whose first error ends it.
pub fn assess_with_look_by<E>(
    assess: impl Fn(&Call<'_>) -> Result<Assessment, E>,
    call: &Call<'_>,
    place: &LookPlace,
    limits: LookLimits,
    observer: FactObserver,
) -> Result<(Assessment, Arc<CallFacts>), E> {
    let end = LookEnd::of(&limits);
    let mut facts = Arc::new(CallFacts::none(observer));
    let mut call = call.clone();
    for _ in 0..MAX_ROUNDS {
        call.facts = Some(Arc::clone(&facts));
        let seen = assess(&call)?;
        let left = MAX_QUERIES.saturating_sub(facts.found.len());
        let new = seen.queries.iter().filter(|query| !facts.has(query));
        let mut new: Vec<FactQuery> = new.take(left).cloned().collect();
        // Dry runs take longest, and no verdict waits for them.
        new.sort_by_key(is_plan);
        if new.is_empty() {
            return Ok((seen, facts));
        }
        let found = look_until(&new, place, limits, end);
        let known = Arc::make_mut(&mut facts);
        known.found.extend(found);
        bound_texts(known, limits.texts_bytes);
    }
    call.facts = Some(Arc::clone(&facts));
    Ok((assess(&call)?, facts))
}

fn is_about_git(query: &FactQuery) -> bool {
    matches!(
        query,
        FactQuery::Path { .. }
            | FactQuery::Worktree { .. }
            | FactQuery::GitRemote { .. }
            | FactQuery::Plan { tool: PlanTool::GitPush, .. }
    )
}

fn is_plan(query: &FactQuery) -> bool {
    matches!(query, FactQuery::Plan { .. })
}

/// Drops the texts of the scripts that are too many together.
fn bound_texts(facts: &mut CallFacts, limit: usize) {
    let mut size = 0;
    for fact in &mut facts.found {
        if let FactAnswer::Script(script) = &fact.answer {
            size += script.text.len();
            if size > limit {
                fact.answer = FactAnswer::Unknown { reason: UnknownReason::TooLarge };
            }
        }
    }
}

fn look_until(
    queries: &[FactQuery],
    place: &LookPlace,
    limits: LookLimits,
    end: LookEnd,
) -> Vec<Fact> {
    let answers = start(queries, place, limits, end);
    let answer = |at: usize, query: &FactQuery| {
        let unknown = FactAnswer::Unknown { reason: UnknownReason::Deadline };
        let Some(answers) = &answers else { return unknown };
        let end = match query {
            FactQuery::Plan { .. } => end.plan,
            query if query.can_only_raise() => end.patient,
            _ => end.end,
        };
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok((of, answer)) if of == at => return answer,
                // The answer to a question before this one came too late.
                Ok(_) => {}
                Err(_) => return unknown,
            }
        }
    };
    let found = queries.iter().enumerate();
    found.map(|(at, query)| Fact { answer: answer(at, query), query: query.clone() }).collect()
}

/// A network file system can keep a thread forever; the caller does not wait for it.
fn start(
    queries: &[FactQuery],
    place: &LookPlace,
    limits: LookLimits,
    end: LookEnd,
) -> Option<Receiver<(usize, FactAnswer)>> {
    if queries.is_empty() || RUNNING.load(Ordering::Relaxed) >= MAX_HANGING {
        return None;
    }
    let (sender, answers) = channel();
    let (queries, place) = (queries.to_vec(), place.clone());
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let work = move || {
        let _running = RunningLook;
        let mut observer = LocalLook {
            budget: Budget::new(limits, end),
            place: &place,
            repositories: Repositories::default(),
        };
        for (at, query) in queries.iter().enumerate() {
            let answer = observer.answer(query);
            let answer = answer.unwrap_or_else(|reason| FactAnswer::Unknown { reason });
            if sender.send((at, answer)).is_err() {
                return;
            }
        }
    };
    let started = thread::Builder::new().name("look".to_owned()).spawn(work);
    if started.is_err() {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    Some(answers)
}

/// Counts a thread until it ends, even by a panic.
struct RunningLook;

impl Drop for RunningLook {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LocalLook<'_> {
    fn answer(&mut self, query: &FactQuery) -> Result<FactAnswer, UnknownReason> {
        let over = match query {
            FactQuery::Plan { .. } => self.budget.is_plan_over(),
            query if query.can_only_raise() => self.budget.is_patience_over(),
            _ => self.budget.is_over(),
        };
        if over {
            return Err(UnknownReason::Deadline);
        }
        if self.is_redirected() && is_about_git(query) {
            return Err(UnknownReason::Unsupported);
        }
        match query {
            FactQuery::Path { path } => path::look_at(self, &self.absolute(path)?),
            FactQuery::Target { path } => path::follow(self, &self.absolute(path)?),
            FactQuery::Worktree { folder } => {
                let folder = self.absolute(folder)?;
                path::worktree(self, &folder)
            }
            FactQuery::Script { path } => {
                let path = self.absolute(path)?;
                script::read(&path, self.budget.limits.script_bytes).map(FactAnswer::Script)
            }
            FactQuery::PackageScript { folder, name } => {
                let folder = self.absolute(folder)?;
                package::script(self, &folder, name).map(FactAnswer::Script)
            }
            FactQuery::MakeTarget { folder, file, target } => {
                let folder = self.absolute(folder)?;
                let found = make::target(self, &folder, file.as_deref(), target.as_deref());
                found.map(FactAnswer::Script)
            }
            FactQuery::GitRemote { folder, remote } => {
                let folder = self.absolute(folder)?;
                let limit = self.budget.limits.config_bytes;
                let found = crate::git::remote(&folder, remote.as_deref(), limit);
                found.map(FactAnswer::Remote)
            }
            FactQuery::Plan { tool, folder, words, is_first } => {
                let folder = self.absolute(folder)?;
                let words = words.as_deref().filter(|_| *is_first);
                let words = words.ok_or(UnknownReason::Unsupported)?;
                plan::find(self, *tool, &folder, words).map(FactAnswer::Plan)
            }
            FactQuery::Current { system } => current::find(self, *system).map(FactAnswer::Current),
        }
    }

    /// Git takes another repository, index or work tree from these.
    fn is_redirected(&self) -> bool {
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"]
            .iter()
            .any(|name| (self.place.variable)(name).is_some())
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, UnknownReason> {
        files::absolute(path, &self.place.cwd, self.place.home.as_deref())
            .ok_or(UnknownReason::Unsupported)
    }
}
