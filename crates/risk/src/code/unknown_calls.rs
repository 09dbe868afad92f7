//! Calls of functions that no rule describes: what their names say.

use super::reader::Reader;
use crate::finding::{Finding, Findings};
use countersign_types::tier::Tier;

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

impl Reader<'_, '_> {
    /// Notes a call of a function that is described nowhere if its name says that it acts.
    pub(super) fn unknown_call(&mut self, name: &str, at: (u32, u32)) {
        if self.quiet || !is_acting(name) {
            return;
        }
        let message = format!("Calls {name}, which may change or delete data.");
        let span = self.span(at);
        self.out.add(Finding::pattern("code.unknown-call", Tier::Medium, message).at(span));
    }

    /// Notes imported modules that are made to act.
    pub(super) fn acting_modules(&mut self) {
        let acting = |module: &&&str| {
            let first = module.trim_start_matches("node:").split(['.', '/']).next();
            first.is_some_and(|first| MODULES.binary_search(&first).is_ok())
        };
        if let Some(module) = self.modules.iter().find(acting) {
            let message = format!("Uses {module}, which can change more than this code shows.");
            let span = self.span((0, 0));
            self.out.add(Finding::pattern("code.acting-module", Tier::Medium, message).at(span));
        }
    }
}

/// Whether a function's name says that it changes, deletes, sends or runs something.
fn is_acting(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if HARMLESS.binary_search(&lower.as_str()).is_ok() {
        return false;
    }
    let words = words(name);
    let listed =
        |list: &[&str]| words.iter().any(|word| list.binary_search(&word.as_str()).is_ok());
    listed(ACTING) || words.len() > 1 && listed(ACTING_BESIDE)
}

/// The words of `deleteUser`, `delete_user` and `DeleteUser`, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut small = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && small;
        small = c.is_lowercase() || c.is_numeric();
        if !c.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether all of a reading is known and nothing in it asks for a person.
pub(super) fn is_harmless(findings: &Findings) -> bool {
    findings.tier() <= Tier::Low && findings.is_certain()
}

#[cfg(test)]
mod tests {
    use super::is_acting;

    #[test]
    fn names_say_what_a_function_does() {
        for name in ["destroy", "dropTable", "delete_user", "User.deleteMany", "rimraf", "sendMail"]
        {
            assert!(is_acting(name), "{name}");
        }
        for name in ["delete", "push", "parse", "validateTargetsFile", "removeChild", "get_config"]
        {
            assert!(!is_acting(name), "{name}");
        }
    }
}
