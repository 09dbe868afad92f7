//! The files that rules come from, and what can be wrong with them.

use std::fmt;

/// A `.cedar` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// Its name, for messages.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A call, and what must happen to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyCase {
    /// File and line, or number.
    pub place: String,
    /// The call as JSON.
    pub call: String,
    /// allow, ask or deny.
    pub expect: &'static str,
    /// The rule that must decide.
    pub rule: Option<String>,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The file.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The rule or test that it is in, if there is one.
    pub rule: Option<String>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl PolicyProblem {
    pub(crate) fn new(file: &str, rule: Option<&str>, message: impl Into<String>) -> PolicyProblem {
        let rule = rule.map(str::to_owned);
        PolicyProblem { file: file.to_owned(), line: None, rule, message: message.into() }
    }

    pub(crate) fn at(self, line: Option<usize>) -> PolicyProblem {
        PolicyProblem { line, ..self }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, ": rule {rule}")?;
        }
        write!(f, ": {}", self.message)
    }
}
