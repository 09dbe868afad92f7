//! What may have happened before: a command is assessed with every value, file and folder it may
//! find.

use std::borrow::Cow;

use super::evaluator::Evaluator;
use super::state::{Asked, Binding, Combination, Folders, MAX_COMMANDS, Variable};
use crate::flow::Flow;
use crate::limit::Limit;
use countersign_shell::posix::ast::{Join, Pipeline};

/// What is left undone when nothing may be walked any more.
const WALKED: Limit = Limit::new("commands", MAX_COMMANDS as usize);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Pipelines one after the other, with what `&&` and `||` say of the folder they run in.
    pub(super) fn list(&mut self, list: &'t [Pipeline<'t>], stdin: &Flow) -> Flow {
        if let [only] = list
            && only.join == Join::Then
            && !only.background
        {
            // Nothing stands before it or behind it.
            return self.pipeline(only, stdin.clone());
        }
        let mut flow = Flow::none();
        let mut begun = self.shared.folders.current().clone();
        // Where a chain that has failed so far would be; none is where it would be otherwise.
        let mut failed: Option<Folders> = None;
        for pipeline in list {
            let good = self.enter_chain(pipeline.join, &mut begun, &mut failed);
            if self.shared.folders.current().is_nowhere() {
                self.shared.folders.set(begun.clone());
            }
            let next = if pipeline.background {
                self.out_of_order(|w| w.pipeline(pipeline, stdin.clone()))
            } else {
                self.pipeline(pipeline, stdin.clone())
            };
            flow = flow.then(next);
            let mut bad = self.shared.folders.take_failed();
            let current = self.shared.folders.current();
            if let Some(before) = failed.filter(|f| bad.is_some() || f != current) {
                bad.get_or_insert_with(|| current.clone()).join(before);
            }
            if !good.is_nowhere() {
                bad.get_or_insert_with(|| current.clone());
                self.shared.folders.join(good);
            }
            failed = bad;
            if pipeline.background {
                self.shared.folders.set(begun.clone());
                failed = None;
            }
        }
        self.shared.folders.set_failed(failed);
        flow
    }

    /// Moves to the folders in which the next pipeline may run; returns those in which the chain
    /// goes on without it.
    fn enter_chain(
        &mut self,
        join: Join,
        begun: &mut Folders,
        failed: &mut Option<Folders>,
    ) -> Folders {
        match join {
            Join::Then => {
                if let Some(failed) = failed.take() {
                    self.shared.folders.join(failed);
                }
                if self.shared.folders.current().is_nowhere() {
                    self.shared.folders.set(begun.clone());
                }
                *begun = self.shared.folders.current().clone();
            }
            Join::And => {
                failed.get_or_insert_with(|| self.shared.folders.current().clone());
            }
            Join::Or => {
                let next = failed.take().unwrap_or_else(|| self.shared.folders.current().clone());
                return self.shared.folders.replace(next);
            }
        }
        Folders::nowhere()
    }

    /// A pipeline, and again with each former value of what it looked at.
    fn pipeline(&mut self, pipeline: &'t Pipeline<'t>, stdin: Flow) -> Flow {
        if !self.shared.variables.has_former() && !self.shared.files.has_former() {
            return self.once(pipeline, stdin);
        }
        let entry = self.shared.folders.current().clone();
        let edits = self.shared.edits();
        let outer = self.shared.begin_asking();
        let flow = self.once(pipeline, stdin.clone());
        let asked = self.shared.end_asking(outer);
        if asked.is_empty() {
            return flow;
        }
        if let Err(excess) = self.shared.budget.may_combine() {
            if !self.shared.combinations(&asked).is_plain() {
                self.shared.exceeded(excess, None);
            }
            return flow;
        }
        self.shared.budget.begin_combinations();
        let flow = self.with_former_values(pipeline, &stdin, flow, &Before { asked, entry, edits });
        self.shared.budget.end_combinations();
        flow
    }

    /// The same pipeline with each combination of former values; `flow` is what it wrote before.
    fn with_former_values(
        &mut self,
        pipeline: &'t Pipeline<'t>,
        stdin: &Flow,
        mut flow: Flow,
        before: &Before,
    ) -> Flow {
        let asked = &before.asked;
        let mut after = self.shared.folders.current().clone();
        let mut failed = self.shared.folders.take_failed();
        let mut newest = None;
        let combinations = self.shared.combinations(asked);
        for n in 0..combinations.count() {
            if self.shared.budget.commands_left() == 0 {
                self.shared.exceeded(WALKED.exceeded(), None);
                break;
            }
            let combination = combinations.get(n);
            if self.shared.edits() == before.edits
                && self.shared.is_walked(asked, &combination, &combinations)
            {
                continue;
            }
            // Until here nothing was walked, so these are what the first walk left.
            newest.get_or_insert_with(|| self.shared.variables.snapshot());
            self.shared.folders.set(before.entry.clone());
            let other = self.once_with(pipeline, stdin.clone(), asked, combination);
            flow = flow.or(&other);
            let mut bad = self.shared.folders.take_failed();
            if let Some(bad) = bad.as_mut().filter(|_| failed.is_none()) {
                bad.join(after.clone());
            }
            let current = self.shared.folders.current();
            if let Some(failed) = failed.take() {
                bad.get_or_insert_with(|| current.clone()).join(failed);
            }
            failed = bad;
            after.join(current.clone());
        }
        for Variable { name, value, taint } in newest.into_iter().flatten() {
            if self.shared.variables.value(&name).is_some_and(|now| now != value) {
                self.shared.variables.assign(&name, value, taint);
            }
        }
        self.shared.folders.set(after);
        self.shared.folders.set_failed(failed);
        flow
    }

    /// The pipeline once with other values, which are put back afterwards.
    fn once_with(
        &mut self,
        pipeline: &'t Pipeline<'t>,
        stdin: Flow,
        asked: &[Asked],
        values: Combination<'_>,
    ) -> Flow {
        let edits = self.shared.edits();
        let now: Vec<Option<Binding>> = asked
            .iter()
            .zip(values)
            .map(|(asked, value)| self.shared.swap(asked, value.map(Cow::into_owned)))
            .collect();
        let flow = self.once(pipeline, stdin);
        let quiet = self.shared.edits() == edits;
        for (asked, binding) in asked.iter().zip(now) {
            if let Some(binding) = binding {
                self.shared.restore(asked, binding, quiet);
            }
        }
        flow
    }

    /// The stages of a pipeline, each fed by the one before it.
    fn once(&mut self, pipeline: &'t Pipeline<'t>, stdin: Flow) -> Flow {
        let mut flow = stdin;
        if let [stage] = pipeline.stages.as_slice() {
            flow = self.stage(stage, flow);
            if pipeline.negated {
                self.shared.folders.join_failed();
            }
            return flow;
        }
        // Each stage is a shell of its own; in some shells the last is not. All run at once.
        self.shared.facts_hold.enter_out_of_order();
        let entry = self.shared.folders.current().clone();
        let mut last = Folders::nowhere();
        for stage in &pipeline.stages {
            self.shared.folders.set(entry.clone());
            flow = self.stage(stage, flow);
            last = self.shared.folders.replace(entry.clone());
            if let Some(failed) = self.shared.folders.take_failed() {
                last.join(failed);
            }
        }
        self.shared.folders.join(last);
        self.shared.facts_hold.leave_out_of_order();
        flow
    }

    /// Runs something whose commands may run again, later or beside others.
    pub(super) fn out_of_order<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.shared.facts_hold.enter_out_of_order();
        let result = run(self);
        self.shared.facts_hold.leave_out_of_order();
        result
    }

    /// Runs something that may not happen at all, or that happens in a shell of its own.
    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let entry = self.shared.folders.current().clone();
        let result = run(self);
        self.shared.folders.set(entry);
        self.shared.folders.set_failed(None);
        result
    }

    /// Runs something after which the folder may have changed or not.
    pub(super) fn maybe<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let entry = self.shared.folders.current().clone();
        let result = run(self);
        self.shared.folders.join_failed();
        self.shared.folders.join(entry);
        result
    }

    /// The parts of `if` and `while`, each of which may run after any other that stands before it.
    pub(super) fn parts(&mut self, list: &'t [Pipeline<'t>], stdin: &Flow) -> Flow {
        let mut flow = Flow::none();
        let mut rest = list;
        while !rest.is_empty() {
            let chain = 1 + rest.iter().skip(1).take_while(|p| p.join != Join::Then).count();
            let (now, later) = rest.split_at(chain.min(rest.len()));
            let next = self.maybe(|w| w.list(now, stdin));
            flow = flow.then(next);
            rest = later;
        }
        flow
    }
}

/// What was so before a pipeline was walked.
struct Before {
    /// What the first walk read that had another value before.
    asked: Vec<Asked>,
    /// The folders it began in.
    entry: Folders,
    /// The edits until then.
    edits: u32,
}
