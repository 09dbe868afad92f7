//! Variables whose value is known, and what their names say.

use super::run::{Evaluator, plain_name};
use super::value::{Kind, Value};
use crate::flow::Taint;
use crate::paths::windows_path;

/// The file that PowerShell runs whenever it starts.
pub const PROFILE: &str = "~/Documents/PowerShell/Microsoft.PowerShell_profile.ps1";

impl Evaluator<'_, '_, '_, '_> {
    /// A variable by its name in lower case.
    pub fn variable(&mut self, name: &str) -> Option<Value> {
        let plain = plain_name(name);
        if let Some(value) = self.state.get(plain) {
            return Some(value);
        }
        if let Some(variable) = plain.strip_prefix("env:") {
            let taint = if is_secret_name(variable) { Taint::SECRET } else { Taint::default() };
            return Some(match windows_path::environment(variable) {
                Some(known) => Value::text(known),
                None => Value::unknown(taint),
            });
        }
        Some(match plain {
            "home" | "env:home" => Value::text("~"),
            "null" => Value::nothing(),
            "true" => Value::of(Kind::Bool(true), Taint::default()),
            "false" => Value::of(Kind::Bool(false), Taint::default()),
            "pwd" | "psscriptroot" => Value::text("."),
            "pshome" => Value::text("C:/Windows/System32/WindowsPowerShell/v1.0"),
            "profile" => Value::text(PROFILE),
            "args" | "input" => Value::unknown(Taint::default()),
            // Characters of these spell commands in hidden texts: `$pshome[4]`.
            "shellid" => Value::text("Microsoft.PowerShell"),
            "verbosepreference" => Value::text("SilentlyContinue"),
            _ => return None,
        })
    }
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "password", "passwd", "token", "api_key", "apikey", "private_key", "access_key"]
        .iter()
        .any(|sign| name.contains(sign))
}
