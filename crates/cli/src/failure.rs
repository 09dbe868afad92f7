//! Errors of the command line, printed in one line.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// Invalid input: one line that says what is wrong and where.
    Input(String),
    /// The reader of the output is gone; nothing can be printed.
    ReaderGone,
}

impl Failure {
    /// The documented exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }

    /// An error with its location in front.
    pub fn at(place: &str, what: impl fmt::Display) -> Failure {
        Failure::Input(format!("{place}: {what}"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::ReaderGone;
        }
        Failure::Input(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::from(io::Error::from(error))
    }
}

impl From<countersign_client::Error> for Failure {
    fn from(error: countersign_client::Error) -> Failure {
        // A daemon's message may repeat what an agent wrote.
        Failure::Input(crate::engine::sanitize(&error.to_string(), 2000))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // One line, whatever the input was: an error must not be able to imitate a card.
            Failure::Input(text) => {
                for c in text.chars() {
                    if c.is_control() {
                        write!(f, "{}", c.escape_default())?;
                    } else {
                        write!(f, "{c}")?;
                    }
                }
                Ok(())
            }
            Failure::ReaderGone => f.write_str("the reader closed the output"),
        }
    }
}
