//! What an argument touches: paths, people, money, many things at once.

use std::borrow::Cow;

use super::arguments::Reader;
use super::table::{self, Class, Role};
use super::target::{self, Access};
use super::text;
use crate::effect::Effect;
use crate::facts::{FactAnswer, FactQuery};
use crate::finding::{Doubt, Finding, Span};
use crate::impact::Money;
use crate::name_lists::{AGENT_FOLDERS, EVERYONE, SWEEP_VALUES};
use crate::structural_findings::{self, StructuralRule};
use countersign_json::Value;
use countersign_text::file_url;
use countersign_types::tier::Tier;

/// From here on many things are touched in one go.
const MANY: usize = 10;
/// From here on deleting is sweeping.
const SEVERAL: usize = 5;

impl Reader<'_, '_> {
    /// A path is touched.
    pub(super) fn path(&mut self, path: &str, access: Access, span: Option<Span>) {
        if path.is_empty() {
            return;
        }
        let elsewhere = file_url::file(path).is_none() && file_url::hostless(path).is_none();
        if elsewhere && path.contains("://") {
            self.url(path);
            return;
        }
        match access {
            Access::Read => self.out.effect(Effect::Read),
            Access::Write => {
                self.out.effect(Effect::Write);
                self.out.impact.writes.add(path);
            }
            Access::Delete => {
                self.out.effect(Effect::Delete);
                self.out.impact.deletes.add(path);
            }
        }
        let whole = self.whole(path);
        let by_name = target::sensitive(&whole, access, &self.ctx);
        let by_target = self.leads_to(&whole, access);
        let tier = |found: &Option<target::Sensitive>| found.as_ref().map(|found| found.tier);
        let found = if tier(&by_target) > tier(&by_name) { by_target } else { by_name };
        if let Some(found) = found {
            if found.secret {
                self.out.effect(Effect::Secret);
                self.out.impact.secrets.add(path);
                self.out.trace.shows_secret(path);
            }
            if found.own {
                self.out.effect(Effect::SelfChange);
            }
            let mut finding = Finding::pattern(found.code, found.tier, found.message);
            finding.span = span;
            self.out.add(finding);
        }
        if access != Access::Read && self.is_anothers(path) {
            self.behaviour(
                "behaviour.another_agent",
                50,
                "This touches the workspace of another agent.",
            );
        }
    }

    /// How sensitive the place is that a path leads to, if an observer followed its symlinks.
    fn leads_to(&mut self, path: &str, access: Access) -> Option<target::Sensitive> {
        let facts = self.ctx.facts?;
        if access == Access::Delete || path.contains(['*', '?', '[', '$', '\\', '\0']) {
            return None;
        }
        let query = FactQuery::Target { path: path.to_owned() };
        let answer = facts.answer(&query);
        self.out.ask(query);
        match answer? {
            FactAnswer::Target(found) => target::sensitive(&found.resolved, access, &self.ctx),
            _ => None,
        }
    }

    /// A path as seen from the working directory.
    fn whole<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let rooted = path.starts_with(['/', '~', '\\', '$']) || path.contains(':');
        match self.ctx.cwd {
            Some(cwd) if !rooted => Cow::Owned(format!("{cwd}/{path}")),
            _ => Cow::Borrowed(path),
        }
    }

    /// A copy is taken of a file whose name says that it is about people.
    pub(super) fn taken(&mut self, path: &str) {
        let file = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        let words = super::name::words(file);
        for noun in words.split(' ').filter(|w| *w != "data").filter_map(table::noun) {
            if let Some(tier) = noun.tier(Class::Take).filter(|t| *t >= Tier::Medium) {
                self.out.human(noun.human);
                self.out.add(Finding::pattern(noun.code, tier, noun.message));
            }
        }
    }

    /// `…/agents/NAME/…` or `…/workspaces/NAME/…` where NAME is somebody else.
    fn is_anothers(&self, path: &str) -> bool {
        let Some(own) = self.agent else { return false };
        let mut parts = path.split(['/', '\\']);
        while let Some(part) = parts.next() {
            if AGENT_FOLDERS.contains(&part) {
                return parts.clone().count() > 1 && parts.next().is_some_and(|n| n != own);
            }
        }
        false
    }

    pub(super) fn recipient(&mut self, names: &str) {
        if self.looks {
            return;
        }
        for one in names.split([',', ';']).map(str::trim).filter(|one| !one.is_empty()) {
            self.out.impact.recipients.add(one);
            if EVERYONE.contains(&&*text::folded_name(one)) {
                self.out.doubt(Doubt::VagueArguments);
                self.out.add(structural_findings::MANY_PEOPLE.finding());
            }
        }
        self.out.effect(Effect::Send);
        self.out.add(structural_findings::RECIPIENT.finding());
    }

    pub(super) fn amount(&mut self, value: &Value<'_>) {
        let (Value::Number(digits) | Value::String(digits)) = value else { return };
        if self.looks || !text::is_amount(digits) {
            return;
        }
        let currency = self.currency.clone();
        self.out.impact.money.push(Money { amount: digits.to_string(), currency });
        let tier = match self.class {
            Some(Class::Money | Class::Send) | None => Tier::High,
            _ => Tier::Medium,
        };
        if tier == Tier::High || self.class == Some(Class::Commit) {
            self.out.effect(Effect::Money);
        }
        self.out.add(Finding::pattern(
            "tool.amount",
            tier,
            "An amount is named: this can cost money.",
        ));
    }

    pub(super) fn count(&mut self, role: Role, items: usize) {
        let role = if role == Role::Path && self.access() == Access::Delete {
            Role::PathDelete
        } else {
            role
        };
        if self.looks || items < SEVERAL {
            return;
        }
        match role {
            Role::Recipient if items >= MANY => {
                self.many(items, &structural_findings::MANY_PEOPLE);
            }
            Role::PathDelete => self.many(items, &structural_findings::MANY_DELETED),
            _ => {}
        }
    }

    pub(super) fn items(&mut self, value: &Value<'_>) {
        let Value::Array(list) = value else {
            self.sweep(value);
            return;
        };
        if self.looks {
            return;
        }
        if self.class == Some(Class::Delete) && list.len() >= SEVERAL {
            self.many(list.len(), &structural_findings::MANY_DELETED);
        }
        self.note_items(list.len());
    }

    pub(super) fn sweep(&mut self, value: &Value<'_>) {
        let on = match value {
            Value::Bool(on) => *on,
            Value::String(text) => SWEEP_VALUES.contains(&text.as_ref()),
            _ => false,
        };
        if on && self.class == Some(Class::Delete) {
            self.out.irreversible();
            self.out.add(structural_findings::DELETES_EVERYTHING.finding());
        }
    }

    fn many(&mut self, items: usize, rule: &StructuralRule) {
        self.note_items(items);
        self.out.add(rule.finding());
    }

    fn note_items(&mut self, items: usize) {
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        self.out.impact.items = self.out.impact.items.max(Some(items));
    }
}
