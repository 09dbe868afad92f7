//! Statements and pipelines: what would run, in what order, with which values.

use super::state::{DefinedFunction, MAX_CANDIDATES, MAX_COPIED, MAX_VARIABLES, PsState};
use super::value::{Kind, PsValue};
use crate::flow::Taint;
use crate::shell::CommandAssessor;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::powershell::ast::{
    PsElement, PsElementKind, PsFunction, PsPipeline, PsStatement, PsStatements,
};
use countersign_shell::powershell::{self as parser, PowerShellProblem};

/// How many statement lists may be inside each other, texts inside texts included.
const MAX_LEVELS: u16 = 56;
/// How many items of a loop are followed one by one.
const MAX_TURNS: usize = 64;

/// Walks one text.
pub struct Evaluator<'a, 's, 'c, 'o> {
    pub assessor: &'a mut CommandAssessor<'s, 'c, 'o>,
    pub state: &'a mut PsState,
}

impl Evaluator<'_, '_, '_, '_> {
    /// Reads and walks a text; returns what it would write.
    pub fn text(&mut self, text: &str) -> PsValue {
        if !self.assessor.begin_text(text.len()) {
            return PsValue::unknown(Taint::default());
        }
        let (statements, problem) = parser::parse(text);
        if let Some((problem, at)) = problem {
            let span = self.assessor.span(at, text.len());
            match problem {
                PowerShellProblem::TooDeep => self.assessor.too_deep(Some(span)),
                PowerShellProblem::TooMany
                | PowerShellProblem::Unclosed
                | PowerShellProblem::Unexpected => self.not_read(span),
            }
        }
        let value = self.statements(&statements);
        if self.state.copied > MAX_COPIED {
            // Values were too large to be followed.
            let span = self.assessor.span(0, text.len());
            self.not_read(span);
        }
        self.assessor.end_text();
        value
    }

    /// A part of the text is not understood.
    pub fn not_read(&mut self, span: crate::finding::Span) {
        self.assessor.out().doubt(crate::finding::Doubt::Unreadable);
        self.assessor.report(&structural_findings::UNREADABLE_POWERSHELL, span);
    }

    /// Walks statements; returns what all of them write.
    pub fn statements(&mut self, list: &PsStatements<'_>) -> PsValue {
        if self.state.levels >= MAX_LEVELS {
            self.assessor.too_deep(None);
            return PsValue::unknown(Taint::default());
        }
        self.state.levels += 1;
        let mut output = PsValue::nothing();
        for statement in list {
            let value = self.statement(statement);
            output = output.then(value);
        }
        self.state.levels -= 1;
        output
    }

    /// Runs something once for each value that its variables may have.
    fn each_choice(&mut self, mut run: impl FnMut(&mut Self) -> PsValue) -> PsValue {
        if self.state.choosing {
            return run(self);
        }
        self.state.choosing = true;
        self.state.choices = 0;
        let mut output = run(self);
        let choices = self.state.choices.min(MAX_CANDIDATES);
        for choice in 1..choices {
            self.state.choice = choice;
            let other = run(self);
            output.taint = output.taint.and(other.origins());
        }
        self.state.choice = 0;
        self.state.choosing = false;
        output
    }

    /// Runs something that may not happen.
    pub fn maybe<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        self.state.conditional += 1;
        let result = run(self);
        self.state.conditional -= 1;
        result
    }

    pub fn statement(&mut self, statement: &PsStatement<'_>) -> PsValue {
        match statement {
            PsStatement::Chain(pipelines) => {
                let mut output = PsValue::nothing();
                for pipeline in pipelines {
                    let value = self.each_choice(|e| e.pipeline(pipeline));
                    output = output.then(value);
                }
                output
            }
            PsStatement::Assign(assignment) => self.each_choice(|e| e.assign(assignment)),
            PsStatement::ForEach { name, values, body } => {
                let values = self.statement(values);
                self.for_each(&name.to_ascii_lowercase(), &values, body)
            }
            PsStatement::Parts { parts, repeats } => {
                let mut output = PsValue::nothing();
                for _ in 0..=u8::from(*repeats) {
                    // Loops inside loops are bounded like commands.
                    if *repeats && !self.assessor.spend() {
                        break;
                    }
                    let version = self.state.version;
                    for part in parts {
                        let value = self.maybe(|e| e.statements(part));
                        output = output.then(value);
                    }
                    if self.state.version == version {
                        break;
                    }
                }
                output
            }
            PsStatement::Function(function) => {
                self.define(function);
                PsValue::nothing()
            }
            PsStatement::Block(list) => self.statements(list),
        }
    }

    fn define(&mut self, function: &PsFunction<'_>) {
        let parameters: Vec<String> =
            function.parameters.iter().map(|p| p.to_ascii_lowercase()).collect();
        let name = function.name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
        if self.state.functions.len() < MAX_VARIABLES {
            self.state.functions.push(DefinedFunction {
                name,
                parameters: parameters.clone(),
                source: function.source.to_owned(),
            });
        } else {
            let span = self.assessor.span(0, 0);
            self.not_read(span);
        }
        self.maybe(|e| {
            let unknown = || PsValue::unknown(Taint::default());
            let old: Vec<_> =
                parameters.iter().map(|p| (p, e.state.replace(p, unknown()))).collect();
            e.state.calls += 1;
            e.statements(&function.body);
            e.state.calls -= 1;
            for (name, old) in old {
                e.state.restore(name, old);
            }
        });
    }

    fn for_each(&mut self, name: &str, values: &PsValue, body: &PsStatements<'_>) -> PsValue {
        let mut items = values.items();
        if items.is_empty() {
            items.push(PsValue::unknown(Taint::default()));
        }
        if items.len() > MAX_TURNS {
            self.too_many_values();
            items.truncate(MAX_TURNS);
        }
        let old = self.state.replace(name, PsValue::nothing());
        let mut output = PsValue::nothing();
        for item in items {
            if !self.assessor.spend() {
                break;
            }
            let mut item = item;
            item.taint = item.taint.and(values.taint);
            item.place = item.place.or_else(|| values.place.clone());
            self.state.replace(name, item);
            let value = self.maybe(|e| e.statements(body));
            output = output.then(value);
        }
        self.state.restore(name, old);
        output
    }

    pub(super) fn too_many_values(&mut self) {
        let span = self.assessor.span(0, 0);
        self.assessor.report(&structural_findings::TOO_MANY_VALUES, span);
    }

    fn pipeline(&mut self, pipeline: &PsPipeline<'_>) -> PsValue {
        let mut flowing = PsValue::nothing();
        for (at, element) in pipeline.elements.iter().enumerate() {
            let old = (at > 0).then(|| self.state.replace("_", flowing.clone()));
            flowing = self.element(element, &flowing);
            if let Some(old) = old {
                self.state.restore("_", old);
            }
        }
        flowing
    }

    fn element(&mut self, element: &PsElement<'_>, input: &PsValue) -> PsValue {
        let span = self.assessor.span(element.start, element.end);
        let output = match &element.kind {
            PsElementKind::Expression(value) => self.value(value),
            PsElementKind::Command(words) => {
                if !self.assessor.spend() {
                    return PsValue::unknown(Taint::default());
                }
                self.command(words, input, span)
            }
        };
        let mut kept = true;
        for redirection in &element.redirections {
            kept &= self.redirect(redirection, &output);
        }
        if kept { output } else { PsValue::nothing() }
    }

    /// Text that is run as PowerShell.
    pub fn run_text(&mut self, value: &PsValue, span: crate::finding::Span) -> PsValue {
        let taint = value.origins();
        let text = match &value.kind {
            Kind::Block(block) => block.source.clone(),
            _ => value.items().iter().map(PsValue::string).collect::<Vec<_>>().join("\n"),
        };
        let risky = taint.has(Taint::NET) || taint.has(Taint::DECODED);
        if risky || text.contains(UNKNOWN) {
            self.assessor.unseen_code(taint, span);
        }
        if text.starts_with(UNKNOWN) && text.len() <= 1 {
            return PsValue::unknown(taint);
        }
        self.inner_text(&text.replace(UNKNOWN, "$unknown"), span).tainted(taint)
    }

    /// Walks a text that has no place of its own.
    pub fn inner_text(&mut self, text: &str, span: crate::finding::Span) -> PsValue {
        let old = self.assessor.pin(Some(span));
        let value = self.text(text);
        self.assessor.pin(old);
        value
    }
}

/// A variable's name without its scope.
pub fn plain_name(name: &str) -> &str {
    match name.split_once(':') {
        Some(("global" | "script" | "local" | "private" | "using" | "variable", rest)) => rest,
        _ => name,
    }
}
