//! Variables, functions and aliases of a PowerShell text.

use super::value::PsValue;
use crate::flow::Taint;

/// How many possible values a variable keeps.
pub(super) const MAX_CANDIDATES: usize = 8;
/// How large the value of a variable may be.
const MAX_WEIGHT: usize = 256 * 1024;
/// How many bytes of values may be copied.
pub(super) const MAX_COPIED: usize = 16 * 1024 * 1024;
/// How many variables are followed.
pub(super) const MAX_VARIABLES: usize = 256;

/// A function of the text.
#[derive(Debug, Clone)]
pub struct DefinedFunction {
    pub name: String,
    pub parameters: Vec<String>,
    pub source: String,
}

/// What the texts of one call share.
#[derive(Debug, Default)]
pub struct PsState {
    /// Names in lower case with the values they may have.
    pub variables: Vec<(String, Vec<PsValue>)>,
    pub functions: Vec<DefinedFunction>,
    pub aliases: Vec<(String, String)>,
    /// Which of several values a variable takes in this pass.
    pub(super) choice: usize,
    /// A pass over one statement is under way.
    pub(super) choosing: bool,
    /// The largest number of values that a variable of this statement has.
    pub(super) choices: usize,
    /// Branches, loops and blocks around this place: assignments may not happen.
    pub conditional: u16,
    pub(super) levels: u16,
    /// How often any variable was set.
    pub version: u32,
    /// Function calls in progress.
    pub calls: u8,
    /// Bytes of text made so far.
    pub made: usize,
    /// Bytes of values copied so far.
    pub(super) copied: usize,
}

impl PsState {
    /// The value of a variable.
    pub fn get(&mut self, name: &str) -> Option<PsValue> {
        let (_, values) = self.variables.iter().find(|(n, _)| n == name)?;
        self.choices = self.choices.max(values.len());
        let value = values.get(self.choice.min(values.len().saturating_sub(1)))?;
        self.copied = self.copied.saturating_add(value.weight(0));
        if self.copied > MAX_COPIED {
            return Some(PsValue::unknown(value.taint));
        }
        Some(value.clone())
    }

    /// Sets a variable. False when more values are possible than are followed.
    pub fn set(&mut self, name: &str, value: PsValue) -> bool {
        self.version += 1;
        let value = if value.weight(0) > MAX_WEIGHT {
            self.copied = usize::MAX;
            PsValue::unknown(Taint::default())
        } else {
            value
        };
        let keep = self.conditional > 0 || self.choice > 0;
        if let Some((_, values)) = self.variables.iter_mut().find(|(n, _)| n == name) {
            if !keep {
                values.clear();
            }
            if values.contains(&value) {
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
    pub fn replace(&mut self, name: &str, value: PsValue) -> Option<Vec<PsValue>> {
        if let Some((_, values)) = self.variables.iter_mut().find(|(n, _)| n == name) {
            Some(std::mem::replace(values, vec![value]))
        } else {
            self.variables.push((name.to_owned(), vec![value]));
            None
        }
    }

    /// Puts back what `replace` returned.
    pub fn restore(&mut self, name: &str, old: Option<Vec<PsValue>>) {
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
