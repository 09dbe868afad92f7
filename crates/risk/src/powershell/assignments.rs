//! Assignments of PowerShell.

use super::run::{Evaluator, plain_name};
use super::value::{Kind, PsValue};
use countersign_shell::powershell::ast::{PsAssignment, PsExpr};

impl Evaluator<'_, '_, '_, '_> {
    pub(super) fn assign(&mut self, assignment: &PsAssignment<'_>) -> PsValue {
        let value = self.statement(&assignment.value);
        let span = self.assessor.span(assignment.start, assignment.end);
        let targets: Vec<&PsExpr<'_>> = match &assignment.target {
            PsExpr::List(list) => list.iter().collect(),
            other => vec![other],
        };
        let items = value.items();
        for (at, target) in targets.iter().enumerate() {
            let value = if targets.len() > 1 {
                items.get(at).cloned().unwrap_or_else(|| PsValue::unknown(value.taint))
            } else {
                value.clone()
            };
            self.assign_one(target, value, assignment.appends, span);
        }
        PsValue::nothing()
    }

    fn assign_one(
        &mut self,
        target: &PsExpr<'_>,
        value: PsValue,
        appends: bool,
        span: crate::finding::Span,
    ) {
        match target {
            PsExpr::Variable(name) => {
                let name = name.to_ascii_lowercase();
                let value = match self.variable(&name).filter(|_| appends) {
                    Some(old) => self.add(old, value),
                    None => value,
                };
                self.set_variable(&name, value, span);
            }
            PsExpr::Cast(_, inner) => self.assign_one(inner, value, appends, span),
            // A member or an item of a variable: what it holds is not known any more.
            PsExpr::Postfix(base, steps) => {
                self.postfix(base, steps, true);
                if let PsExpr::Variable(name) = base.as_ref() {
                    let name = name.to_ascii_lowercase();
                    let old = self.variable(&name).unwrap_or_default();
                    let taint = old.origins().and(value.origins());
                    let table = matches!(old.kind, Kind::Table(_) | Kind::Object(_));
                    if !table {
                        let value = old.then(value).tainted(taint);
                        self.set_variable(&name, value, span);
                    }
                }
            }
            other => {
                self.value(other);
            }
        }
    }

    /// Sets a variable by its name in lower case.
    pub fn set_variable(&mut self, name: &str, value: PsValue, span: crate::finding::Span) {
        if let Some(variable) = name.strip_prefix("env:") {
            let upper = variable.to_ascii_uppercase();
            self.assessor.assigned(&upper, &value.string(), span);
        }
        let name = plain_name(name);
        if !self.state.set(name, value) {
            self.too_many_values();
        }
    }
}
