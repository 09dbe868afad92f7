//! The syntax tree of PowerShell text: statements, pipelines, commands and expressions.

use std::borrow::Cow;

/// A list of statements in the order of the text.
pub type Statements<'t> = Vec<Statement<'t>>;

/// One statement.
#[derive(Debug)]
pub enum Statement<'t> {
    /// Pipelines joined by `&&` and `||`; each of them may run.
    Chain(Vec<Pipeline<'t>>),
    /// `target = value`.
    Assign(Assignment<'t>),
    /// `foreach ($name in values) { body }`.
    ForEach { name: Cow<'t, str>, values: Box<Statement<'t>>, body: Statements<'t> },
    /// The parts of `if`, `switch`, `try`, `while`, `for` and the like: each part may run.
    Parts { parts: Vec<Statements<'t>>, repeats: bool },
    /// `function name { body }` with the names of its parameters.
    Function(Function<'t>),
    /// Statements that always run here: `begin { }`, `return x`, the defaults of `param( )`.
    Block(Statements<'t>),
}

/// `function name { body }`.
#[derive(Debug)]
pub struct Function<'t> {
    /// Its name.
    pub name: &'t str,
    /// The names of its parameters.
    pub parameters: Vec<Cow<'t, str>>,
    /// Its statements, the defaults of its parameters first.
    pub body: Statements<'t>,
    /// The source text of its block.
    pub source: &'t str,
}

/// `target = value`.
#[derive(Debug)]
pub struct Assignment<'t> {
    /// The left side.
    pub target: Expr<'t>,
    /// `+=` and the like: the old value is part of the new one.
    pub appends: bool,
    /// The right side.
    pub value: Box<Statement<'t>>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Elements joined by `|`.
#[derive(Debug)]
pub struct Pipeline<'t> {
    /// At least one.
    pub elements: Vec<Element<'t>>,
}

/// One element of a pipeline.
#[derive(Debug)]
pub struct Element<'t> {
    /// What it is.
    pub kind: ElementKind<'t>,
    /// `> file` and its variants.
    pub redirections: Vec<Redirection<'t>>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What an element of a pipeline is.
#[derive(Debug)]
pub enum ElementKind<'t> {
    /// A command: its name and its arguments.
    Command(Vec<Word<'t>>),
    /// An expression whose value flows on.
    Expression(Expr<'t>),
}

/// One word of a command.
#[derive(Debug)]
pub struct Word<'t> {
    /// What it is.
    pub kind: WordKind<'t>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What a word of a command is.
#[derive(Debug)]
pub enum WordKind<'t> {
    /// `-Name`; with `attached`, the next word is its value (`-Name:value`).
    Parameter { name: Cow<'t, str>, attached: bool },
    /// A value.
    Value(Expr<'t>),
    /// `@name`: the members of a table or list as arguments.
    Splat(Cow<'t, str>),
    /// `--% …`: the rest of the line, unread.
    Verbatim(&'t str),
}

/// `> target`; a duplicated stream (`2>&1`) has no target.
#[derive(Debug)]
pub struct Redirection<'t> {
    /// The file.
    pub target: Expr<'t>,
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
pub enum Expr<'t> {
    /// Text without expansions; `bare` for an unquoted word, in which `*` is a wildcard.
    Text { text: Cow<'t, str>, bare: bool },
    /// A double-quoted string or a word in pieces.
    Pieces { pieces: Vec<Expr<'t>>, bare: bool },
    /// A number.
    Number(&'t str),
    /// `$name`, `$env:NAME`, `${name}`.
    Variable(Cow<'t, str>),
    /// `$( … )`, `( … )`, `@( … )`.
    Statements(Statements<'t>),
    /// `@{ key = value }`.
    Table(Vec<(Expr<'t>, Statement<'t>)>),
    /// `{ … }`.
    Block(ScriptBlock<'t>),
    /// `[type]`.
    Type(&'t str),
    /// `[type]value`.
    Cast(&'t str, Box<Expr<'t>>),
    /// `-not x`, `-join x`; the operator in lower case without its dash.
    Unary(Cow<'t, str>, Box<Expr<'t>>),
    /// `a op b op c …`, flat; precedence is applied when it is evaluated.
    Binary(Box<Expr<'t>>, Vec<(Cow<'t, str>, Expr<'t>)>),
    /// `a, b`.
    List(Vec<Expr<'t>>),
    /// `x.name`, `x::name( … )`, `x[0]` …, flat.
    Postfix(Box<Expr<'t>>, Vec<Access<'t>>),
}

/// A script block.
#[derive(Debug)]
pub struct ScriptBlock<'t> {
    /// The names in its `param( … )`.
    pub parameters: Vec<Cow<'t, str>>,
    /// Its statements.
    pub body: Statements<'t>,
    /// Its source text.
    pub source: &'t str,
}

/// One step behind an expression.
#[derive(Debug)]
pub enum Access<'t> {
    /// `.name` or `::name`; with arguments it is a call.
    Member {
        name: Expr<'t>,
        is_static: bool,
        arguments: Option<Vec<Expr<'t>>>,
        start: usize,
        end: usize,
    },
    /// `[index]`.
    Index(Expr<'t>),
}
