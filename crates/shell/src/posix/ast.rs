//! The small IR of shell text: lists of pipelines of stages, words in parts.

use std::borrow::Cow;

/// A list of pipelines, in the order they stand.
pub type List<'a> = Vec<Pipeline<'a>>;

/// Stages joined by `|`.
#[derive(Debug, Clone)]
pub struct Pipeline<'a> {
    /// At least one.
    pub stages: Vec<Stage<'a>>,
    /// Ended by `&`.
    pub background: bool,
    /// How it hangs together with the one before.
    pub join: Join,
    /// `!` stands before it.
    pub negated: bool,
}

/// What must have happened before a pipeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Nothing: `;`, `&` or a new line.
    Then,
    /// The one before succeeded: `&&`.
    And,
    /// The one before failed: `||`.
    Or,
}

/// How the list inside a compound command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// `{ …; }`: as if it stood alone.
    Here,
    /// `( … )`: in a shell of its own.
    Apart,
    /// The parts of `if`: each of them may run.
    Maybe,
    /// The parts of `while` and `until`: each may run, and again.
    Again,
}

/// One stage of a pipeline with its redirections.
#[derive(Debug, Clone)]
pub struct Stage<'a> {
    /// What runs.
    pub node: Node<'a>,
    /// Redirections of the whole stage.
    pub redirections: Vec<Redirection<'a>>,
    /// Where it stands.
    pub start: usize,
    /// One past its end.
    pub end: usize,
}

/// What a stage is.
#[derive(Debug, Clone)]
pub enum Node<'a> {
    /// Assignments and words.
    Simple(Simple<'a>),
    /// `{ …; }`, `( … )`, and the parts of `if` and `while`: all of them may run.
    Group(Runs, List<'a>),
    /// `for NAME in WORDS; do …; done`
    For {
        /// The variable.
        name: &'a str,
        /// What it is set to, in turn.
        words: Vec<Word<'a>>,
        /// What runs for each.
        body: List<'a>,
    },
    /// `case WORD in …) …;; esac`; the patterns stand among the words.
    Case {
        /// The word and all patterns.
        words: Vec<Word<'a>>,
        /// What runs if a pattern matches.
        arms: Vec<List<'a>>,
    },
    /// `NAME () …`
    Function {
        /// Its name.
        name: Cow<'a, str>,
        /// What a call runs.
        body: Box<Stage<'a>>,
    },
    /// `[[ … ]]` and `(( … ))`: words that are only looked at.
    Test(Vec<Word<'a>>),
}

/// Assignments and words of a simple command.
#[derive(Debug, Clone, Default)]
pub struct Simple<'a> {
    /// `NAME=value` before the command.
    pub assignments: Vec<Assignment<'a>>,
    /// The command and its arguments.
    pub words: Vec<Word<'a>>,
}

/// One `NAME=value`.
#[derive(Debug, Clone)]
pub struct Assignment<'a> {
    /// Name.
    pub name: &'a str,
    /// The text inside `NAME[…]=`, as written.
    pub subscript: Option<&'a str>,
    /// `+=`.
    pub append: bool,
    /// `NAME=( … )`.
    pub list: bool,
    /// Value; for arrays all elements.
    pub value: Vec<Word<'a>>,
}

/// A word in its parts.
#[derive(Debug, Clone)]
pub struct Word<'a> {
    /// The parts, left to right.
    pub parts: Parts<'a>,
    /// Where it stands.
    pub start: usize,
    /// One past its end.
    pub end: usize,
}

/// Most words are one plain piece; only the others cost an allocation.
#[derive(Debug, Clone)]
pub enum Parts<'a> {
    /// Unquoted text without any special character.
    Plain(&'a str),
    /// Anything else.
    Many(Vec<Part<'a>>),
}

/// A part of a word.
#[derive(Debug, Clone)]
pub enum Part<'a> {
    /// Unquoted text: globs, braces and a leading tilde still mean something.
    Bare(Cow<'a, str>),
    /// Quoted text: means itself.
    Quoted(Cow<'a, str>),
    /// `$NAME`, `${NAME…}`.
    Variable {
        /// The variable.
        name: &'a str,
        /// What is done with its value.
        operation: Operation<'a>,
        /// Inside double quotes.
        quoted: bool,
    },
    /// `$( … )`.
    Command {
        /// The commands.
        list: List<'a>,
        /// Inside double quotes.
        quoted: bool,
    },
    /// Backquotes: their text is unescaped first and read when it is walked.
    Backquote {
        /// The text between the backquotes, unescaped.
        text: Cow<'a, str>,
        /// Where the text begins.
        start: usize,
        /// One past its end.
        end: usize,
        /// Inside double quotes.
        quoted: bool,
    },
    /// `<( … )` or `>( … )`.
    Process {
        /// The commands.
        list: List<'a>,
        /// `<( … )`: the command line reads what they print.
        reads: bool,
    },
    /// `$(( … ))` and `$[ … ]` with the commands inside.
    Arithmetic {
        /// Its words and commands.
        parts: Vec<Part<'a>>,
    },
    /// Parts that run while the word is made but add nothing to it: subscripts, slices, the insides
    /// of patterns.
    Aside(Vec<Part<'a>>),
}

/// What `${…}` does with its variable.
#[derive(Debug, Clone)]
pub enum Operation<'a> {
    /// Nothing.
    Plain,
    /// `:-word`, `-word`, `:=word`, `=word`
    Default(Box<Word<'a>>),
    /// `:+word`, `+word`
    Alternative(Box<Word<'a>>),
    /// `:?word`, `?word`: the value, or nothing runs.
    Required(Box<Word<'a>>),
    /// `:offset:length` as written, and its parts.
    Slice(&'a str, Box<Word<'a>>),
    /// Everything else: what comes out is not followed. The word may hold commands.
    Other(Box<Word<'a>>),
}

/// A redirection.
#[derive(Debug, Clone)]
pub struct Redirection<'a> {
    /// What it does.
    pub kind: Redirect<'a>,
    /// Its number if written, else the usual one.
    pub number: Option<u32>,
}

/// Kinds of redirection.
#[derive(Debug, Clone)]
pub enum Redirect<'a> {
    /// `< file`
    Read(Word<'a>),
    /// `> file`, `>| file`, `&> file`
    Write(Word<'a>),
    /// `>> file`, `&>> file`
    Append(Word<'a>),
    /// `<> file`
    Both(Word<'a>),
    /// `>& word`, `<& word`
    Duplicate(Word<'a>),
    /// `<<< word`
    Text(Word<'a>),
    /// `<< END`: the body as a word (its expansions still happen unless the mark was quoted).
    Here(Word<'a>),
}
