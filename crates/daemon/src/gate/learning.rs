//! Grants that are learned from approvals, where the configuration allows it. They list exactly the
//! commands that people approved, expire, and end with the next denial of the same form.

use std::collections::HashSet;

use countersign_store::{RequestQuery, Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::grant::{CommandShape, Grant, GrantDetails, GrantShape};
use countersign_workflow::learning::{AnsweredCommand, CommandForm, FormCounts, RepeatedAnswer};
use countersign_workflow::request::{Decider, State};

use super::grant_shapes::shown_command;
use super::state::Gate;
use crate::random;

/// The author of learned grants. No person can have this name.
pub const LEARNED: &str = "learned from approvals";

/// How many requests are read at most, and how many at once.
const MAX_REQUESTS: usize = 5_000;
const PAGE: u32 = 500;
const DAY: u32 = 86_400;

/// Commands of one form that people approved many times in a row.
#[derive(Debug)]
pub struct FormSuggestion {
    /// The newest approved request.
    pub request: Id,
    /// How often people approved commands of the form.
    pub approvals: u32,
    /// The agent.
    pub agent: String,
    /// The commands with holes, such as `gh run view <number>`.
    pub pattern: String,
    /// The repository.
    pub repository: Option<String>,
    /// The approved commands.
    pub commands: Vec<String>,
    /// The tier of the newest.
    pub tier: Tier,
    /// When the newest was asked.
    pub last: Timestamp,
}

impl Gate {
    /// Learns from a decision: an approval may make a grant, a denial ends those of the same form.
    /// A failure is logged; without the grant, people are asked as before.
    pub(super) async fn learn(&self, decided: &StoredRequest) {
        if let Err(error) = self.learn_from(decided).await {
            tracing::error!(%error, "nothing was learned from a decision");
        }
    }

    async fn learn_from(&self, decided: &StoredRequest) -> Result<(), StoreError> {
        let Some((form, answer)) = form_of(decided) else { return Ok(()) };
        match answer {
            RepeatedAnswer::Denied => self.end_learned(&form).await,
            RepeatedAnswer::Approved if self.rules().learning.automatic => {
                self.make_learned(&form).await
            }
            RepeatedAnswer::Approved => Ok(()),
        }
    }

    /// Revokes the learned grants of a form.
    async fn end_learned(&self, form: &CommandForm) -> Result<(), StoreError> {
        for grant in self.store.grants(false).await? {
            if learned_form(&grant).as_ref() == Some(form) {
                let note = self.learning_note();
                self.store.revoke_grant(grant.id, LEARNED.to_owned(), note).await?;
                self.grants.drop(grant.id);
                self.news.add(format!(
                    "A denial ended what {} could do without a question: {}.",
                    form.agent(),
                    grant.words()
                ));
            }
        }
        Ok(())
    }

    /// Makes the grant of a form if people approved it often enough since the last denial.
    async fn make_learned(&self, form: &CommandForm) -> Result<(), StoreError> {
        let rules = self.rules();
        let all = self.store.grants(true).await?;
        let same = all.iter().filter(|grant| learned_form(grant).as_ref() == Some(form));
        // What a person revoked is learned again only from later approvals.
        let revoked = same.clone().filter_map(|grant| grant.revoked).max();
        let counts = self.form_counts(Some(form.agent()), revoked).await?.0;
        let found = counts.get(form).filter(|found| found.approvals >= rules.learning.approvals);
        let Some(shape) = found.and_then(|found| found.listed_shape(form)) else { return Ok(()) };
        let now = self.clock.now();
        if !now.reliable {
            return Ok(());
        }
        let is_same = |grant: &&Grant| grant.shape == GrantShape::Command(Box::new(shape.clone()));
        let mut active = same.filter(|grant| grant.is_active(now.at));
        if active.any(|grant| is_same(&grant)) {
            return Ok(());
        }
        self.give_learned(form, shape, rules.learning.days).await
    }

    async fn give_learned(
        &self,
        form: &CommandForm,
        shape: CommandShape,
        days: u32,
    ) -> Result<(), StoreError> {
        let now = self.clock.now().at;
        let id = random::id(now);
        let id = id.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let lasts = Millis::from_seconds(days.saturating_mul(DAY));
        let grant = Grant {
            id,
            shape: GrantShape::Command(Box::new(shape)),
            agent: Some(form.agent().to_owned()),
            session: None,
            made_by: LEARNED.to_owned(),
            made_at: now,
            expires: Some(now.plus(lasts)),
            uses_left: None,
            revoked: None,
            details: GrantDetails::default(),
        };
        self.store.create_grant(grant.clone(), self.learning_note()).await?;
        self.news.add(format!(
            "Learned from approvals: {} may run {} without a question for {days} days. Revoke it \
             on the page Grants.",
            form.agent(),
            grant.words()
        ));
        self.grants.add(grant);
        Ok(())
    }

    pub(super) fn learning_note(&self) -> WriteContext {
        WriteContext { policy: self.rules().hash, facts: None, edited: None }
    }

    /// The commands of one form that people approved so often in a row, the newest first.
    pub async fn form_suggestions(&self, needed: u32) -> Result<Vec<FormSuggestion>, StoreError> {
        let (counts, newest) = self.form_counts(None, None).await?;
        let now = self.clock.now().at;
        let active = self.store.grants(false).await?;
        let active = active.iter().filter(|grant| self.grants.in_force(grant, now));
        let active: Vec<&Grant> = active.collect();
        let mut found = Vec::new();
        for stored in newest {
            let Some((form, RepeatedAnswer::Approved)) = form_of(&stored) else { continue };
            let Some(approved) = counts.get(&form).filter(|one| one.approvals >= needed) else {
                continue;
            };
            let is_covered = active.iter().any(|grant| covers(grant, &form, &stored));
            let is_listed = found.iter().any(|one: &FormSuggestion| {
                one.pattern == form.pattern()
                    && one.agent == form.agent()
                    && one.repository.as_deref() == form.repository()
            });
            // One command that was approved each time is suggested as an exact call.
            if is_covered || is_listed || approved.commands.len() < 2 {
                continue;
            }
            found.push(FormSuggestion {
                request: stored.request.id,
                approvals: approved.approvals,
                agent: form.agent().to_owned(),
                pattern: form.pattern().to_owned(),
                repository: form.repository().map(ToOwned::to_owned),
                commands: approved.commands.clone(),
                tier: stored.request.tier,
                last: stored.request.schedule.created,
            });
        }
        Ok(found)
    }

    /// The approvals by form, of one agent or of all, after this time; and the requests, newest
    /// first.
    async fn form_counts(
        &self,
        agent: Option<&str>,
        after: Option<Timestamp>,
    ) -> Result<(FormCounts, Vec<StoredRequest>), StoreError> {
        let (mut answered, mut read, mut before) = (Vec::new(), 0, None);
        loop {
            let agent = agent.map(ToOwned::to_owned);
            let query = RequestQuery { before, agent, limit: PAGE, ..RequestQuery::default() };
            let page = self.store.find(query).await?;
            read += page.requests.len();
            let is_later = |one: &StoredRequest| {
                after.is_none_or(|after| one.request.schedule.created > after)
            };
            answered.extend(page.requests.into_iter().filter(is_later).filter(is_answered));
            before = page.next;
            if before.is_none() || read >= MAX_REQUESTS {
                break;
            }
        }
        // A call that a person regretted counts as denied, whatever was said before.
        let regretted: HashSet<Id> =
            self.store.regretted().await?.iter().map(|call| call.request).collect();
        let mut counts = FormCounts::default();
        for stored in answered.iter().rev() {
            let Some((call, repository)) = shown_command(stored) else { continue };
            let Some(answer) = answer_of(stored) else { continue };
            let is_regretted = regretted.contains(&stored.request.id);
            let answer = if is_regretted { RepeatedAnswer::Denied } else { answer };
            counts.note(&AnsweredCommand {
                agent: stored.request.requester.name(),
                repository: repository.as_deref(),
                call: &call,
                crisis: stored.request.crisis,
                answer,
            });
        }
        Ok((counts, answered))
    }
}

/// Whether a grant covers the command of a request.
fn covers(grant: &Grant, form: &CommandForm, stored: &StoredRequest) -> bool {
    let GrantShape::Command(shape) = &grant.shape else { return false };
    let ours = grant.agent.as_deref().is_none_or(|agent| agent == form.agent());
    ours && grant.session.is_none()
        && shown_command(stored)
            .is_some_and(|(call, repository)| shape.covers_shown(&call, repository.as_deref()))
}

/// The form of a learned grant.
pub(super) fn learned_form(grant: &Grant) -> Option<CommandForm> {
    match &grant.shape {
        GrantShape::Command(shape) if grant.made_by == LEARNED => {
            CommandForm::of_shape(grant.agent.as_deref()?, shape)
        }
        _ => None,
    }
}

fn form_of(stored: &StoredRequest) -> Option<(CommandForm, RepeatedAnswer)> {
    let answer = answer_of(stored)?;
    let (call, repository) = shown_command(stored)?;
    let agent = stored.request.requester.name();
    let form = CommandForm::new(agent, repository.as_deref(), &call)?;
    Some((form, answer))
}

fn is_answered(stored: &StoredRequest) -> bool {
    answer_of(stored).is_some()
}

/// What one person answered. Calls that need several people are not learned.
fn answer_of(stored: &StoredRequest) -> Option<RepeatedAnswer> {
    let request = &stored.request;
    let made = request.decision.as_ref()?;
    if request.requester.is_drill() || !matches!(made.by, Decider::People(_)) {
        return None;
    }
    match made.state {
        State::Approved if request.quorum.approve > 1 => None,
        State::Approved if made.digest == request.digest => Some(RepeatedAnswer::Approved),
        State::Approved | State::Denied => Some(RepeatedAnswer::Denied),
        _ => None,
    }
}
