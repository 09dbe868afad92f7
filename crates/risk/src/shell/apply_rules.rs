//! The rules of a program, applied to one call of it.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::objects;
use super::program::is_odd_place;
use crate::command_tables::{EVERY_PROGRAM, Rule, Spec};
use crate::effect::Effect;
use crate::finding::{Factor, Finding, Span};
use crate::structural_findings;
use countersign_types::tier::{Points, Tier};

/// How rules matched a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Matched {
    Nothing,
    Some,
    /// Also a rule about settings for the shell.
    Settings,
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Rules that hold for programs of every kind.
    pub(super) fn general_rules(
        &mut self,
        spec: &Spec,
        inv: &Invocation<'_, 't>,
        stdin: bool,
        span: Span,
    ) {
        let odd =
            |a: &Arg<'_>| a.has_slash() && is_odd_place(&self.shared.workspace.local(&a.text));
        if let Some(first) = inv.args.first().filter(|first| odd(first)) {
            self.first_use(&structural_findings::ODD_PLACE, &first.text, span);
        }
        if !spec.inert {
            self.rules(&EVERY_PROGRAM, inv, stdin, span);
        }
        if self.shared.rights.root && spec.base >= Tier::Low {
            self.as_root(span);
        }
    }

    /// What a program does that no rule describes more closely.
    pub(super) fn base(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, span: Span) {
        objects::note(spec.ordinary, spec.base, inv, span, self.shared.out);
        let message =
            if spec.message.is_empty() { "Makes changes on this machine." } else { spec.message };
        let mut finding = Finding::pattern(spec.ordinary, spec.base, message);
        finding.span = Some(span);
        self.shared.out.add(finding);
    }

    pub(super) fn as_root(&mut self, span: Span) {
        self.shared.out.effect(Effect::Privilege);
        let mut finding = Finding::pattern(
            structural_findings::AS_ROOT.code,
            Tier::Safe,
            structural_findings::AS_ROOT.message,
        );
        finding.factor = Factor::Context;
        finding.weight = Points(30);
        finding.span = Some(span);
        self.shared.out.add(finding);
    }

    /// Holds rules against a call.
    pub(super) fn rules(
        &mut self,
        rules: &[&'static Rule],
        inv: &Invocation<'_, 't>,
        stdin: bool,
        span: Span,
    ) -> Matched {
        let mut matched = Matched::Nothing;
        let mut highest: Option<&Rule> = None;
        for rule in rules {
            let placed = (!rule.home || self.shared.has_moved_home())
                && (!rule.unplaced || !self.shared.workspace.is_known());
            if !placed
                || !inv.fits(rule, stdin, self.shared.rights.root)
                || rule.unseen && self.names_only_seen(rule, inv)
            {
                continue;
            }
            let fetched = if rule.fetched { self.fetched_workplace(inv) } else { None };
            if rule.fetched && fetched.is_none() {
                continue;
            }
            matched = matched.max(if rule.settings { Matched::Settings } else { Matched::Some });
            if rule.tier > highest.map_or(Tier::Safe, |known| known.tier) {
                highest = Some(rule);
            }
            rule.effects.iter().for_each(|e| self.shared.out.effect(*e));
            let loses_nothing = rule.loses.is_some_and(|loses| self.is_clean(loses, inv));
            if rule.irreversible && !loses_nothing {
                self.shared.out.irreversible();
            }
            let tier = if loses_nothing { rule.tier.min(Tier::Low) } else { rule.tier };
            // A rule of SAFE weighs nothing but says why nobody is asked.
            let mut finding = Finding::pattern(rule.id, tier, rule.message).at(span);
            finding.suggestion = rule.suggestion.map(Into::into);
            match fetched {
                Some(folder) => self.shared.add_fetched(finding, &folder),
                None => self.add_rule(rule, inv, finding),
            }
        }
        if let Some(rule) = highest {
            objects::note(rule.id, rule.tier, inv, span, self.shared.out);
        }
        matched
    }
}
