//! Commands as shuck-parser sees them.

use shuck_ast::{
    ArithmeticExpr, ArithmeticExprNode, ArithmeticLvalue, Assignment, AssignmentValue,
    BourneParameterExpansion, BuiltinCommand, Command, CompoundCommand, ConditionalExpr,
    DeclOperand, HeredocBodyPart, ParameterExpansion, ParameterExpansionSyntax, ParameterOp,
    Pattern, PatternPart, RedirectTarget, Stmt, StmtSeq, Subscript, VarRef, Word, WordPart,
    WordPartNode,
};
use shuck_parser::parser::{ParseStatus, Parser};

use crate::Names;

/// The names in a text, or none where shuck does not read it cleanly.
pub fn names(text: &str) -> Option<Names> {
    let result = Parser::new(text).parse();
    if result.status != ParseStatus::Clean {
        return None;
    }
    let mut walk = Walk { text, names: Vec::new() };
    walk.list(&result.file.body);
    Some(walk.names)
}

struct Walk<'a> {
    text: &'a str,
    names: Names,
}

impl Walk<'_> {
    fn list(&mut self, list: &StmtSeq) {
        list.iter().for_each(|s| self.statement(s));
    }

    fn statement(&mut self, statement: &Stmt) {
        self.command(&statement.command);
        for redirect in &statement.redirects {
            match &redirect.target {
                RedirectTarget::Word(word) => self.word(word),
                RedirectTarget::Heredoc(here) => {
                    for part in &here.body.parts {
                        match &part.kind {
                            HeredocBodyPart::CommandSubstitution { body, .. } => self.list(body),
                            HeredocBodyPart::ArithmeticExpansion {
                                expression_word_ast, ..
                            } => self.word(expression_word_ast),
                            HeredocBodyPart::Parameter(p) => self.parameter(p),
                            HeredocBodyPart::Literal(_) | HeredocBodyPart::Variable(_) => {}
                        }
                    }
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => {
                if !simple.name.parts.is_empty() && simple.name.span.start != simple.name.span.end {
                    self.names.push(self.literal(&simple.name.parts));
                }
                self.assignments(&simple.assignments);
                self.word(&simple.name);
                simple.args.iter().for_each(|w| self.word(w));
            }
            Command::Builtin(builtin) => {
                let (name, first, rest, assignments) = match builtin {
                    BuiltinCommand::Break(c) => ("break", &c.depth, &c.extra_args, &c.assignments),
                    BuiltinCommand::Continue(c) => {
                        ("continue", &c.depth, &c.extra_args, &c.assignments)
                    }
                    BuiltinCommand::Return(c) => ("return", &c.code, &c.extra_args, &c.assignments),
                    BuiltinCommand::Exit(c) => ("exit", &c.code, &c.extra_args, &c.assignments),
                };
                self.names.push(Some(name.to_owned()));
                self.assignments(assignments);
                first.iter().chain(rest).for_each(|w| self.word(w));
            }
            Command::Decl(clause) => {
                self.names.push(Some(clause.variant.to_string()));
                self.assignments(&clause.assignments);
                for operand in &clause.operands {
                    match operand {
                        DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => self.word(word),
                        DeclOperand::Name(reference) => self.reference(reference),
                        DeclOperand::Assignment(assignment) => self.assignment(assignment),
                    }
                }
            }
            Command::Binary(binary) => {
                self.statement(&binary.left);
                self.statement(&binary.right);
            }
            Command::Compound(compound) => self.compound(compound),
            Command::Function(function) => self.statement(&function.body),
            Command::AnonymousFunction(function) => self.statement(&function.body),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::If(c) => {
                self.list(&c.condition);
                self.list(&c.then_branch);
                for (condition, body) in &c.elif_branches {
                    self.list(condition);
                    self.list(body);
                }
                c.else_branch.iter().for_each(|l| self.list(l));
            }
            CompoundCommand::For(c) => {
                c.words.iter().flatten().for_each(|w| self.word(w));
                self.list(&c.body);
            }
            CompoundCommand::ArithmeticFor(c) => {
                let parts = [&c.init_ast, &c.condition_ast, &c.step_ast];
                parts.into_iter().flatten().for_each(|e| self.arithmetic(e));
                self.list(&c.body);
            }
            CompoundCommand::While(c) => {
                self.list(&c.condition);
                self.list(&c.body);
            }
            CompoundCommand::Until(c) => {
                self.list(&c.condition);
                self.list(&c.body);
            }
            CompoundCommand::Case(c) => {
                self.word(&c.word);
                for item in &c.cases {
                    item.patterns.iter().for_each(|p| self.pattern(p));
                    self.list(&item.body);
                }
            }
            CompoundCommand::Select(c) => {
                c.words.iter().for_each(|w| self.word(w));
                self.list(&c.body);
            }
            CompoundCommand::Subshell(list) | CompoundCommand::BraceGroup(list) => self.list(list),
            CompoundCommand::Arithmetic(c) => {
                c.expr_ast.iter().for_each(|e| self.arithmetic(e));
            }
            CompoundCommand::Time(c) => c.command.iter().for_each(|s| self.statement(s)),
            CompoundCommand::Conditional(c) => self.condition(&c.expression),
            CompoundCommand::Coproc(c) => self.statement(&c.body),
            CompoundCommand::Repeat(_)
            | CompoundCommand::Foreach(_)
            | CompoundCommand::Always(_) => {}
        }
    }

    fn condition(&mut self, expression: &ConditionalExpr) {
        match expression {
            ConditionalExpr::Binary(e) => {
                self.condition(&e.left);
                self.condition(&e.right);
            }
            ConditionalExpr::Unary(e) => self.condition(&e.expr),
            ConditionalExpr::Parenthesized(e) => self.condition(&e.expr),
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => self.word(word),
            ConditionalExpr::Pattern(pattern) => self.pattern(pattern),
            ConditionalExpr::VarRef(reference) => self.reference(reference),
        }
    }

    fn arithmetic(&mut self, node: &ArithmeticExprNode) {
        match &node.kind {
            ArithmeticExpr::Number(_) | ArithmeticExpr::Variable(_) => {}
            ArithmeticExpr::Indexed { index, .. } => self.arithmetic(index),
            ArithmeticExpr::ShellWord(word) => self.word(word),
            ArithmeticExpr::Parenthesized { expression } => self.arithmetic(expression),
            ArithmeticExpr::Unary { expr, .. } | ArithmeticExpr::Postfix { expr, .. } => {
                self.arithmetic(expr);
            }
            ArithmeticExpr::Binary { left, right, .. } => {
                self.arithmetic(left);
                self.arithmetic(right);
            }
            ArithmeticExpr::Conditional { condition, then_expr, else_expr } => {
                for e in [condition, then_expr, else_expr] {
                    self.arithmetic(e);
                }
            }
            ArithmeticExpr::Assignment { target, value, .. } => {
                if let ArithmeticLvalue::Indexed { index, .. } = target {
                    self.arithmetic(index);
                }
                self.arithmetic(value);
            }
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            self.assignment(assignment);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.reference(&assignment.target);
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(word),
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    if let shuck_ast::ArrayElem::Keyed { key, .. }
                    | shuck_ast::ArrayElem::KeyedAppend { key, .. } = element
                    {
                        self.subscript(key);
                    }
                    self.word(&element.value().word);
                }
            }
        }
    }

    fn reference(&mut self, reference: &VarRef) {
        reference.subscript.iter().for_each(|s| self.subscript(s));
    }

    fn subscript(&mut self, subscript: &Subscript) {
        match (&subscript.arithmetic_ast, &subscript.word_ast) {
            (_, Some(word)) => self.word(word),
            (Some(arithmetic), None) => self.arithmetic(arithmetic),
            (None, None) => {}
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        for part in &pattern.parts {
            match &part.kind {
                PatternPart::Group { patterns, .. } => {
                    for pattern in patterns {
                        self.pattern(pattern);
                    }
                }
                PatternPart::Word(word) => self.word(word),
                _ => {}
            }
        }
    }

    fn word(&mut self, word: &Word) {
        self.parts(&word.parts);
    }

    fn parts(&mut self, parts: &[WordPartNode]) {
        for part in parts {
            match &part.kind {
                WordPart::DoubleQuoted { parts, .. } => self.parts(parts),
                WordPart::CommandSubstitution { body, .. }
                | WordPart::ProcessSubstitution { body, .. } => self.list(body),
                WordPart::ArithmeticExpansion { expression_word_ast, .. } => {
                    self.word(expression_word_ast);
                }
                WordPart::Parameter(parameter) => self.parameter(parameter),
                WordPart::ParameterExpansion { reference, operator, operand_word_ast, .. } => {
                    self.reference(reference);
                    self.operator(operator);
                    if let Some(word) = operand_word_ast {
                        self.word(word);
                    }
                }
                WordPart::IndirectExpansion { operator, operand_word_ast, .. } => {
                    if let Some(operator) = operator {
                        self.operator(operator);
                    }
                    if let Some(word) = operand_word_ast {
                        self.word(word);
                    }
                }
                WordPart::Substring { offset_word_ast, length_word_ast, .. }
                | WordPart::ArraySlice { offset_word_ast, length_word_ast, .. } => {
                    self.word(offset_word_ast);
                    if let Some(word) = length_word_ast {
                        self.word(word);
                    }
                }
                WordPart::Length(r) | WordPart::ArrayAccess(r) | WordPart::ArrayLength(r) => {
                    self.reference(r);
                }
                _ => {}
            }
        }
    }

    fn parameter(&mut self, parameter: &ParameterExpansion) {
        let ParameterExpansionSyntax::Bourne(bourne) = &parameter.syntax else { return };
        match bourne {
            BourneParameterExpansion::Access { reference }
            | BourneParameterExpansion::Length { reference }
            | BourneParameterExpansion::Indices { reference }
            | BourneParameterExpansion::Transformation { reference, .. }
            | BourneParameterExpansion::Indirect { reference, .. }
            | BourneParameterExpansion::Slice { reference, .. } => self.reference(reference),
            BourneParameterExpansion::Operation { reference, operator, .. } => {
                self.reference(reference);
                self.operator(operator);
            }
            BourneParameterExpansion::PrefixMatch { .. } => {}
        }
        let words = [bourne.operand_word_ast(), bourne.offset_word_ast(), bourne.length_word_ast()];
        words.into_iter().flatten().for_each(|w| self.word(w));
    }

    fn operator(&mut self, operator: &ParameterOp) {
        match operator {
            ParameterOp::RemovePrefixShort { pattern }
            | ParameterOp::RemovePrefixLong { pattern }
            | ParameterOp::RemoveSuffixShort { pattern }
            | ParameterOp::RemoveSuffixLong { pattern }
            | ParameterOp::ReplaceFirst { pattern, .. }
            | ParameterOp::ReplaceAll { pattern, .. } => self.pattern(pattern),
            _ => {}
        }
        operator.replacement_word_ast().into_iter().for_each(|w| self.word(w));
    }

    fn literal(&self, parts: &[WordPartNode]) -> Option<String> {
        let mut all = String::new();
        for part in parts {
            match &part.kind {
                WordPart::Literal(text) => all.push_str(text.as_str(self.text, part.span)),
                WordPart::SingleQuoted { value, .. } => all.push_str(value.slice(self.text)),
                WordPart::DoubleQuoted { parts, .. } => all.push_str(&self.literal(parts)?),
                _ => return None,
            }
        }
        Some(all)
    }
}
