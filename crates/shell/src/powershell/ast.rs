//! The syntax tree of PowerShell text: statements, pipelines, commands and expressions.

use std::borrow::Cow;

/// A list of statements in the order of the text.
pub type PsStatements<'t> = Vec<PsStatement<'t>>;

/// One statement.
#[derive(Debug)]
pub enum PsStatement<'t> {
    /// Pipelines joined by `&&` and `||`; each of them may run.
    Chain(Vec<PsPipeline<'t>>),
    /// `target = value`.
    Assign(PsAssignment<'t>),
    /// `foreach ($name in values) { body }`.
    ForEach {
        /// The variable.
        name: Cow<'t, str>,
        /// What it is set to, in turn.
        values: Box<PsStatement<'t>>,
        /// What runs for each.
        body: PsStatements<'t>,
    },
    /// The parts of `if`, `switch`, `try`, `while`, `for` and the like: each part may run.
    Parts {
        /// Conditions and blocks.
        parts: Vec<PsStatements<'t>>,
        /// A loop.
        repeats: bool,
    },
    /// `function name { body }` with the names of its parameters.
    Function(PsFunction<'t>),
    /// Statements that always run here: `begin { }`, `return x`, the defaults of `param( )`.
    Block(PsStatements<'t>),
}

/// `function name { body }`.
#[derive(Debug)]
pub struct PsFunction<'t> {
    /// Its name.
    pub name: &'t str,
    /// The names of its parameters.
    pub parameters: Vec<Cow<'t, str>>,
    /// Its statements, the defaults of its parameters first.
    pub body: PsStatements<'t>,
    /// The source text of its block.
    pub source: &'t str,
}

/// `target = value`.
#[derive(Debug)]
pub struct PsAssignment<'t> {
    /// The left side.
    pub target: PsExpr<'t>,
    /// `+=` and the like: the old value is part of the new one.
    pub appends: bool,
    /// The right side.
    pub value: Box<PsStatement<'t>>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Elements joined by `|`.
#[derive(Debug)]
pub struct PsPipeline<'t> {
    /// At least one.
    pub elements: Vec<PsElement<'t>>,
}

/// One element of a pipeline.
#[derive(Debug)]
pub struct PsElement<'t> {
    /// What it is.
    pub kind: PsElementKind<'t>,
    /// `> file` and its variants.
    pub redirections: Vec<PsRedirection<'t>>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What an element of a pipeline is.
#[derive(Debug)]
pub enum PsElementKind<'t> {
    /// A command: its name and its arguments.
    Command(Vec<PsWord<'t>>),
    /// An expression whose value flows on.
    Expression(PsExpr<'t>),
}

/// One word of a command.
#[derive(Debug)]
pub struct PsWord<'t> {
    /// What it is.
    pub kind: PsWordKind<'t>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What a word of a command is.
#[derive(Debug)]
pub enum PsWordKind<'t> {
    /// `-Name`; with `attached`, the next word is its value (`-Name:value`).
    Parameter {
        /// Its name without the dash.
        name: Cow<'t, str>,
        /// `-name:value`: the next word is its value.
        attached: bool,
    },
    /// A value.
    Value(PsExpr<'t>),
    /// `@name`: the members of a table or list as arguments.
    Splat(Cow<'t, str>),
    /// `--% …`: the rest of the line, unread.
    Verbatim(&'t str),
}

/// `> target`; a duplicated stream (`2>&1`) has no target.
#[derive(Debug)]
pub struct PsRedirection<'t> {
    /// The file.
    pub target: PsExpr<'t>,
    /// `>>`.
    pub append: bool,
    /// Whether the output itself goes there, not only errors or warnings.
    pub output: bool,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// An expression.
#[derive(Debug)]
pub enum PsExpr<'t> {
    /// Text without expansions; `bare` for an unquoted word, in which `*` is a wildcard.
    Text {
        /// The text without quotes.
        text: Cow<'t, str>,
        /// Not quoted.
        bare: bool,
    },
    /// A double-quoted string or a word in pieces.
    Pieces {
        /// Text and expressions, in order.
        pieces: Vec<PsExpr<'t>>,
        /// Not quoted.
        bare: bool,
    },
    /// A number.
    Number(&'t str),
    /// `$name`, `$env:NAME`, `${name}`.
    Variable(Cow<'t, str>),
    /// `$( … )`, `( … )`, `@( … )`.
    Statements(PsStatements<'t>),
    /// `@{ key = value }`.
    Table(Vec<(PsExpr<'t>, PsStatement<'t>)>),
    /// `{ … }`.
    Block(PsScriptBlock<'t>),
    /// `[type]`.
    Type(&'t str),
    /// `[type]value`.
    Cast(&'t str, Box<PsExpr<'t>>),
    /// `-not x`, `-join x`; the operator in lower case without its dash.
    Unary(Cow<'t, str>, Box<PsExpr<'t>>),
    /// `a op b op c …`, flat; precedence is applied when it is evaluated.
    Binary(Box<PsExpr<'t>>, Vec<(Cow<'t, str>, PsExpr<'t>)>),
    /// `a, b`.
    List(Vec<PsExpr<'t>>),
    /// `x.name`, `x::name( … )`, `x[0]` …, flat.
    Postfix(Box<PsExpr<'t>>, Vec<PsAccess<'t>>),
}

/// A script block.
#[derive(Debug)]
pub struct PsScriptBlock<'t> {
    /// The names in its `param( … )`.
    pub parameters: Vec<Cow<'t, str>>,
    /// Its statements.
    pub body: PsStatements<'t>,
    /// Its source text.
    pub source: &'t str,
}

/// One step behind an expression.
#[derive(Debug)]
pub enum PsAccess<'t> {
    /// `.name` or `::name`; with arguments it is a call.
    Member {
        /// The member's name.
        name: PsExpr<'t>,
        /// `::` instead of `.`.
        is_static: bool,
        /// The arguments of a call.
        arguments: Option<Vec<PsExpr<'t>>>,
        /// Where the member begins.
        start: usize,
        /// One past its end.
        end: usize,
    },
    /// `[index]`.
    Index(PsExpr<'t>),
}
