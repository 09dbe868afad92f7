//! Statements and pipelines: what would run, in what order, with which values.

use super::value::{Kind, Value};
use crate::command_tables::Touch;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::CommandJudge;
use countersign_shell::UNKNOWN;
use countersign_shell::powershell::ast::{
    PsAssignment, PsElement, PsElementKind, PsExpr, PsFunction, PsPipeline, PsRedirection,
    PsStatement, PsStatements,
};
use countersign_shell::powershell::{self as parser, PowerShellProblem};
use countersign_types::tier::Tier;

/// How many statement lists may be inside each other, texts inside texts included.
const MAX_LEVELS: u16 = 56;
/// How many possible values a variable keeps.
const MAX_CANDIDATES: usize = 8;
/// How large the value of a variable may be.
const MAX_WEIGHT: usize = 256 * 1024;
/// How many bytes of values may be copied.
const MAX_COPIED: usize = 16 * 1024 * 1024;
/// How many variables are followed.
const MAX_VARIABLES: usize = 256;
/// How many items of a loop are followed one by one.
const MAX_TURNS: usize = 64;

/// A function of the text.
#[derive(Debug, Clone)]
pub struct Named {
    pub name: String,
    pub parameters: Vec<String>,
    pub source: String,
}

/// What the texts of one call share.
#[derive(Debug, Default)]
pub struct State {
    /// Names in lower case with the values they may have.
    pub variables: Vec<(String, Vec<Value>)>,
    pub functions: Vec<Named>,
    pub aliases: Vec<(String, String)>,
    /// Which of several values a variable takes in this pass.
    choice: usize,
    /// A pass over one statement is under way.
    choosing: bool,
    /// The largest number of values that a variable of this statement has.
    choices: usize,
    /// Branches, loops and blocks around this place: assignments may not happen.
    pub conditional: u16,
    levels: u16,
    /// How often any variable was set.
    pub version: u32,
    /// Function calls in progress.
    pub calls: u8,
    /// Bytes of text made so far.
    pub made: usize,
    /// Bytes of values copied so far.
    copied: usize,
}

impl State {
    /// The value of a variable.
    pub fn get(&mut self, name: &str) -> Option<Value> {
        let (_, values) = self.variables.iter().find(|(n, _)| n == name)?;
        self.choices = self.choices.max(values.len());
        let value = values.get(self.choice.min(values.len().saturating_sub(1)))?;
        self.copied = self.copied.saturating_add(value.weight(0));
        if self.copied > MAX_COPIED {
            return Some(Value::unknown(value.taint));
        }
        Some(value.clone())
    }

    /// Sets a variable. False when more values are possible than are followed.
    pub fn set(&mut self, name: &str, value: Value) -> bool {
        self.version += 1;
        let value = if value.weight(0) > MAX_WEIGHT {
            self.copied = usize::MAX;
            Value::unknown(Taint::default())
        } else {
            value
        };
        let keep = self.conditional > 0 || self.choice > 0;
        if let Some((_, values)) = self.variables.iter_mut().find(|(n, _)| n == name) {
            if !keep {
                values.clear();
            }
            let known = |v: &Value| v.known();
            if keep && values.iter().any(|v| known(v).is_some() && known(v) == known(&value)) {
                return true;
            }
            if values.len() >= MAX_CANDIDATES {
                return false;
            }
            values.push(value);
            return true;
        }
        if self.variables.len() >= MAX_VARIABLES {
            return false;
        }
        self.variables.push((name.to_owned(), vec![value]));
        true
    }

    /// Sets a variable to exactly this value; the old ones are returned.
    pub fn replace(&mut self, name: &str, value: Value) -> Option<Vec<Value>> {
        if let Some((_, values)) = self.variables.iter_mut().find(|(n, _)| n == name) {
            Some(std::mem::replace(values, vec![value]))
        } else {
            self.variables.push((name.to_owned(), vec![value]));
            None
        }
    }

    /// Puts back what `replace` returned.
    pub fn restore(&mut self, name: &str, old: Option<Vec<Value>>) {
        match old {
            Some(old) => {
                if let Some((_, values)) = self.variables.iter_mut().find(|(n, _)| n == name) {
                    *values = old;
                }
            }
            None => self.variables.retain(|(n, _)| n != name),
        }
    }
}

/// Walks one text.
pub struct Evaluator<'a, 's, 'c, 'o> {
    pub judge: &'a mut CommandJudge<'s, 'c, 'o>,
    pub state: &'a mut State,
}

impl Evaluator<'_, '_, '_, '_> {
    /// Reads and walks a text; returns what it would write.
    pub fn text(&mut self, text: &str) -> Value {
        if !self.judge.begin_text(text.len()) {
            return Value::unknown(Taint::default());
        }
        let (statements, problem) = parser::parse(text);
        if let Some((problem, at)) = problem {
            let span = self.judge.span(at, text.len());
            match problem {
                PowerShellProblem::TooDeep => self.judge.too_deep(Some(span)),
                PowerShellProblem::TooMany
                | PowerShellProblem::Unclosed
                | PowerShellProblem::Unexpected => self.not_read(span),
            }
        }
        let value = self.statements(&statements);
        if self.state.copied > MAX_COPIED {
            // Values were too large to be followed.
            let span = self.judge.span(0, text.len());
            self.not_read(span);
        }
        self.judge.end_text();
        value
    }

    /// A part of the text is not understood.
    pub fn not_read(&mut self, span: crate::finding::Span) {
        self.judge.out().doubt(crate::finding::Doubt::Unreadable);
        self.judge.find(
            "powershell.unreadable",
            Tier::Medium,
            "Holds PowerShell that Countersign cannot read.",
            span,
        );
    }

    /// Walks statements; returns what all of them write.
    pub fn statements(&mut self, list: &PsStatements<'_>) -> Value {
        if self.state.levels >= MAX_LEVELS {
            self.judge.too_deep(None);
            return Value::unknown(Taint::default());
        }
        self.state.levels += 1;
        let mut output = Value::nothing();
        for statement in list {
            let value = self.statement(statement);
            output = output.then(value);
        }
        self.state.levels -= 1;
        output
    }

    /// Runs something once for each value that its variables may have.
    fn each_choice(&mut self, mut run: impl FnMut(&mut Self) -> Value) -> Value {
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

    pub fn statement(&mut self, statement: &PsStatement<'_>) -> Value {
        match statement {
            PsStatement::Chain(pipelines) => {
                let mut output = Value::nothing();
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
                let mut output = Value::nothing();
                for _ in 0..=u8::from(*repeats) {
                    // Loops inside loops are bounded like commands.
                    if *repeats && !self.judge.spend() {
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
                Value::nothing()
            }
            PsStatement::Block(list) => self.statements(list),
        }
    }

    fn define(&mut self, function: &PsFunction<'_>) {
        let parameters: Vec<String> =
            function.parameters.iter().map(|p| p.to_ascii_lowercase()).collect();
        let name = function.name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
        if self.state.functions.len() < MAX_VARIABLES {
            self.state.functions.push(Named {
                name,
                parameters: parameters.clone(),
                source: function.source.to_owned(),
            });
        } else {
            let span = self.judge.span(0, 0);
            self.not_read(span);
        }
        self.maybe(|e| {
            let unknown = || Value::unknown(Taint::default());
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

    fn for_each(&mut self, name: &str, values: &Value, body: &PsStatements<'_>) -> Value {
        let mut items = values.items();
        if items.is_empty() {
            items.push(Value::unknown(Taint::default()));
        }
        if items.len() > MAX_TURNS {
            self.too_many_values();
            items.truncate(MAX_TURNS);
        }
        let old = self.state.replace(name, Value::nothing());
        let mut output = Value::nothing();
        for item in items {
            if !self.judge.spend() {
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

    fn too_many_values(&mut self) {
        let span = self.judge.span(0, 0);
        self.judge.find(
            "powershell.too-many-values",
            Tier::Medium,
            "Goes through more values than Countersign follows.",
            span,
        );
    }

    fn assign(&mut self, assignment: &PsAssignment<'_>) -> Value {
        let value = self.statement(&assignment.value);
        let span = self.judge.span(assignment.start, assignment.end);
        let targets: Vec<&PsExpr<'_>> = match &assignment.target {
            PsExpr::List(list) => list.iter().collect(),
            other => vec![other],
        };
        let items = value.items();
        for (at, target) in targets.iter().enumerate() {
            let value = if targets.len() > 1 {
                items.get(at).cloned().unwrap_or_else(|| Value::unknown(value.taint))
            } else {
                value.clone()
            };
            self.assign_one(target, value, assignment.appends, span);
        }
        Value::nothing()
    }

    fn assign_one(
        &mut self,
        target: &PsExpr<'_>,
        value: Value,
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
    pub fn set_variable(&mut self, name: &str, value: Value, span: crate::finding::Span) {
        if let Some(variable) = name.strip_prefix("env:") {
            let upper = variable.to_ascii_uppercase();
            self.judge.assigned(&upper, &value.string(), span);
        }
        let name = plain_name(name);
        if !self.state.set(name, value) {
            self.too_many_values();
        }
    }

    fn pipeline(&mut self, pipeline: &PsPipeline<'_>) -> Value {
        let mut flowing = Value::nothing();
        for (at, element) in pipeline.elements.iter().enumerate() {
            let old = (at > 0).then(|| self.state.replace("_", flowing.clone()));
            flowing = self.element(element, &flowing);
            if let Some(old) = old {
                self.state.restore("_", old);
            }
        }
        flowing
    }

    fn element(&mut self, element: &PsElement<'_>, input: &Value) -> Value {
        let span = self.judge.span(element.start, element.end);
        let output = match &element.kind {
            PsElementKind::Expression(value) => self.value(value),
            PsElementKind::Command(words) => {
                if !self.judge.spend() {
                    return Value::unknown(Taint::default());
                }
                self.command(words, input, span)
            }
        };
        let mut kept = true;
        for redirection in &element.redirections {
            kept &= self.redirect(redirection, &output);
        }
        if kept { output } else { Value::nothing() }
    }

    /// `> file`; whether the output still flows on.
    fn redirect(&mut self, redirection: &PsRedirection<'_>, output: &Value) -> bool {
        let is_null = |name: &str| name.eq_ignore_ascii_case("null");
        if matches!(&redirection.target, PsExpr::Variable(name) if is_null(name)) {
            return !redirection.output;
        }
        let span = self.judge.span(redirection.start, redirection.end);
        let target = self.value(&redirection.target);
        for word in target.words(span, true) {
            self.write(&word, redirection.append, &output.flow());
        }
        !redirection.output
    }

    /// Writes a flow into a file.
    pub fn write(&mut self, word: &crate::shell::CommandWord, append: bool, flow: &Flow) {
        let share = windows_path::share_host(&word.text).is_some();
        let path = windows_path::normalize(&word.text, self.judge.context().cwd).into_owned();
        if share {
            self.judge.sent(flow.taint.has(Taint::SECRET), word.span);
        }
        let target = crate::shell::CommandWord { text: path, ..word.clone() };
        let touch = if append { Touch::Append } else { Touch::Write };
        self.judge.touch(touch, &target, false);
        self.judge.written(&target.text, append, flow);
    }

    /// Text that is run as PowerShell.
    pub fn run_text(&mut self, value: &Value, span: crate::finding::Span) -> Value {
        let taint = value.origins();
        let text = match &value.kind {
            Kind::Block(block) => block.source.clone(),
            _ => value.items().iter().map(Value::string).collect::<Vec<_>>().join("\n"),
        };
        let risky = taint.has(Taint::NET) || taint.has(Taint::DECODED);
        if risky || text.contains(UNKNOWN) {
            self.judge.unseen_code(taint, span);
        }
        if text.starts_with(UNKNOWN) && text.len() <= 1 {
            return Value::unknown(taint);
        }
        self.inner_text(&text.replace(UNKNOWN, "$unknown"), span).tainted(taint)
    }

    /// Walks a text that has no place of its own.
    pub fn inner_text(&mut self, text: &str, span: crate::finding::Span) -> Value {
        let old = self.judge.pin(Some(span));
        let value = self.text(text);
        self.judge.pin(old);
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
