//! A cmd command as it is written.

/// One word of a command.
#[derive(Debug, Clone, Default)]
pub struct CmdWord {
    /// Its text without the quotes around it.
    pub text: String,
    /// The letters of loop variables, which it holds as `\u{2}x`.
    pub loops: bool,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// How a command hangs together with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Separator {
    /// `&`, `&&`, `||`, a parenthesis or a new line.
    #[default]
    Next,
    /// `|`: its output flows on.
    Pipe,
}

/// One command as it is written.
#[derive(Debug, Default)]
pub struct CmdCommand {
    /// The program and its arguments.
    pub words: Vec<CmdWord>,
    /// Files of `>`, `>>`, `2>` with whether they are added to, and whether output goes there.
    pub writes: Vec<(CmdWord, bool, bool)>,
    /// Files of `<`.
    pub reads: Vec<CmdWord>,
    /// What follows it.
    pub separator: Separator,
    /// Where it begins.
    pub start: usize,
    /// One past its end.
    pub end: usize,
}

/// Looks variables up while the text is read.
pub trait CmdVariables {
    /// The value of `%NAME%`; none if it is only known at run time.
    fn value(&mut self, name: &str) -> Option<String>;
    /// Something could not be read.
    fn not_read(&mut self, at: usize);
}
