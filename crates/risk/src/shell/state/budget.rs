//! How much of one call is walked: commands, texts, bytes, and how deep they nest.

use super::counters::{Counters, Totals};
use crate::limit::{Excess, Limit};

/// How many texts may nest (`sh -c "sh -c …"`).
const MAX_TEXTS: u8 = 12;
/// How many commands are walked in one call.
pub(crate) const MAX_COMMANDS: u32 = 1_500;
/// How many bytes are read in one call, texts inside texts included. A text over the reader's own
/// limit is refused there, with its own words.
const MAX_READING: usize = 4 * countersign_shell::MAX_BYTES;
/// How many bytes of variables are put into words in one call.
const MAX_EXPANSION: usize = 256 * 1024;
/// How many commands may be inside each other (`sudo env nice …`).
const MAX_INNER: u8 = 24;
/// In how many ways the words of one text may be read as commands besides the first way.
const MAX_READINGS: u16 = 2048;
/// How many programs named by patterns are tried.
const MAX_GUESSES: u8 = 8;
/// How deep trying former values may nest.
const NESTING: Limit = Limit::new("combinations of former values", 2);
/// How deep loops are walked again.
const MAX_LOOPS: u8 = 2;

/// What is left of the bounds of one call.
#[derive(Debug)]
pub(crate) struct Budget {
    commands: u32,
    texts: u8,
    reading: usize,
    expansion: usize,
    inner: u8,
    readings: u16,
    guesses: u8,
    /// A program named by a pattern is being tried as each program it could be.
    guessing: bool,
    /// Pipelines being walked again with former values.
    nesting: u8,
    /// Loops being walked again.
    loops: u8,
    counters: Counters,
}

/// What was left when a loan began.
#[derive(Clone, Copy)]
pub(crate) struct BudgetLoan {
    commands: u32,
    reading: usize,
    expansion: usize,
    readings: u16,
    guesses: u8,
}

/// What to do with a program that is named by a pattern.
pub(crate) enum Guess {
    /// Try every program it could be, then call `end_guess`.
    Try,
    /// The pattern is inside a guess: it is reported already that the program is not known.
    Nested,
    TooMany,
}

impl Budget {
    /// The whole budget, for a text at this depth of texts inside texts.
    pub fn new(depth: u8) -> Budget {
        Budget {
            commands: MAX_COMMANDS,
            texts: depth,
            reading: MAX_READING,
            expansion: MAX_EXPANSION,
            inner: 0,
            readings: 0,
            guesses: 0,
            guessing: false,
            nesting: 0,
            loops: 0,
            counters: Counters::default(),
        }
    }

    /// What may still be used up. The text of a script that an observer read has a budget of its
    /// own, so that reading it leaves enough for the call itself.
    pub fn lend(&mut self) -> BudgetLoan {
        let loan = BudgetLoan {
            commands: self.commands,
            reading: self.reading,
            expansion: self.expansion,
            readings: self.readings,
            guesses: self.guesses,
        };
        self.commands = MAX_COMMANDS;
        self.reading = MAX_READING;
        self.expansion = MAX_EXPANSION;
        (self.readings, self.guesses) = (0, 0);
        loan
    }

    /// Ends a loan: what was used up since does not count.
    pub fn end_loan(&mut self, loan: BudgetLoan) {
        self.commands = loan.commands;
        self.reading = loan.reading;
        self.expansion = loan.expansion;
        (self.readings, self.guesses) = (loan.readings, loan.guesses);
    }

    /// How deep the text being walked is inside others.
    pub fn depth(&self) -> u8 {
        self.texts
    }

    /// Enters a text of this length; false where it is too deep or too much was read already.
    pub fn enter_text(&mut self, length: usize) -> bool {
        let cost = length.min(countersign_shell::MAX_BYTES);
        if self.texts >= MAX_TEXTS || self.reading < cost {
            return false;
        }
        self.texts += 1;
        self.reading -= cost;
        true
    }

    /// The same for a POSIX text: it sees variables, functions and files.
    pub fn enter_posix_text(&mut self, length: usize) -> bool {
        self.counters.read();
        self.enter_text(length)
    }

    /// Leaves a text that was entered.
    pub fn leave_text(&mut self) {
        self.texts -= 1;
    }

    /// Counts one command; false where none may be walked any more.
    pub fn spend_command(&mut self) -> bool {
        let left = self.commands > 0;
        self.commands = self.commands.saturating_sub(1);
        left
    }

    /// How many commands may still be walked.
    pub fn commands_left(&self) -> u32 {
        self.commands
    }

    /// Counts bytes of variables that are put into words; false where there are too many.
    pub fn spend_expansion(&mut self, bytes: usize) -> bool {
        let enough = self.expansion >= bytes;
        self.expansion -= if enough { bytes } else { 0 };
        enough
    }

    /// Enters a command inside another one; false where it is too deep.
    pub fn enter_command(&mut self) -> bool {
        self.counters.read();
        let fits = self.inner < MAX_INNER;
        self.inner += u8::from(fits);
        fits
    }

    /// Leaves a command that was entered.
    pub fn leave_command(&mut self) {
        self.inner -= 1;
    }

    /// Counts one more reading of the same words; false where there are too many.
    pub fn spend_reading(&mut self) -> bool {
        self.readings = self.readings.saturating_add(1);
        self.readings <= MAX_READINGS
    }

    /// Begins to try the programs that a pattern could be.
    pub fn begin_guess(&mut self) -> Guess {
        self.counters.edit();
        self.guesses = self.guesses.saturating_add(1);
        if self.guesses > MAX_GUESSES {
            return Guess::TooMany;
        }
        if std::mem::replace(&mut self.guessing, true) { Guess::Nested } else { Guess::Try }
    }

    pub fn end_guess(&mut self) {
        self.guessing = false;
    }

    pub(super) fn is_guessing(&self) -> bool {
        self.guessing
    }

    /// Whether a pipeline may be walked again with former values.
    pub fn may_combine(&self) -> Result<(), Excess> {
        NESTING.check(usize::from(self.nesting) + 1)
    }

    pub fn begin_combinations(&mut self) {
        self.nesting += 1;
    }

    pub fn end_combinations(&mut self) {
        self.nesting -= 1;
    }

    /// Begins to walk a loop again; false where too many loops are walked again already.
    pub fn begin_loop(&mut self) -> bool {
        let fits = self.loops < MAX_LOOPS;
        self.loops += u8::from(fits);
        fits
    }

    pub fn end_loop(&mut self) {
        self.loops -= 1;
    }

    /// Whether something is being walked again.
    pub(super) fn walks_again(&self) -> bool {
        self.nesting > 0 || self.loops > 0
    }

    pub(super) fn totals(&self) -> Totals {
        self.counters.totals()
    }
}
