//! What an argument of a tool is.

use crate::code::Language;

/// What an argument means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Shell,
    ShellLines,
    /// A command for bash.
    Bash,
    PowerShell,
    Cmd,
    Code(Language),
    AnyCode,
    Language,
    Sql,
    MaybeSql,
    Path,
    PathRead,
    PathWrite,
    PathDelete,
    PathTaken,
    Cwd,
    Url,
    Recipient,
    Amount,
    Currency,
    Body,
    Patch,
    Method,
    Action,
    Secret,
    Items,
    Sweep,
    /// A boolean that makes the tool destroy or replace things.
    Switch,
    Escalate,
    /// A program's words, one string each.
    Argv,
    /// The program that another argument's words belong to.
    Program,
    /// Environment variables by name.
    Env,
    /// Which shell or language runs the code.
    Interpreter,
    /// A word, number or name that is never run.
    Plain,
    /// Prose for the person who reads along.
    Note,
    /// Keys typed into a running program.
    Keystrokes,
    /// What another agent is told to do.
    Instructions,
    /// What is written into the file that another argument names.
    Content,
    /// What a button or link says.
    Label,
    Tool,
    ToolArguments,
}

impl Role {
    /// Whether the argument is run as shell or code.
    pub(super) fn is_code(self) -> bool {
        use Role::{
            AnyCode, Argv, Bash, Cmd, Code, Keystrokes, PowerShell, Program, Shell, ShellLines,
        };
        matches!(
            self,
            Shell
                | Bash
                | ShellLines
                | PowerShell
                | Cmd
                | Code(_)
                | AnyCode
                | Argv
                | Program
                | Keystrokes
        )
    }

    /// Whether the argument names a path.
    pub(super) fn is_path(self) -> bool {
        use Role::{Cwd, Path, PathDelete, PathRead, PathTaken, PathWrite};
        matches!(self, Path | PathRead | PathWrite | PathDelete | PathTaken | Cwd)
    }

    /// Whether the argument is a word, a number, a switch, a path or prose, never an object.
    pub(super) fn is_scalar(self) -> bool {
        use Role::{Action, Amount, Currency, Escalate, Interpreter, Language, Method};
        use Role::{Note, Plain, Sweep, Switch, Tool, Url};
        self.is_path()
            || matches!(self, Plain | Note | Language | Interpreter | Escalate | Switch | Sweep)
            || matches!(self, Amount | Currency | Method | Action | Tool | Url)
    }

    /// Whether the argument itself says what the tool would do.
    pub(super) fn is_the_matter(self) -> bool {
        self.is_code() || matches!(self, Role::Sql | Role::Patch | Role::Tool)
    }
}
