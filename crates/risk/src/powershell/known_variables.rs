//! Variables whose value is known, and what their names say.

use super::run::{Evaluator, plain_name};
use super::value::{Kind, PsValue};
use crate::flow::Taint;
use crate::name_lists::SECRET_POWERSHELL_VARIABLES;
use crate::paths::windows_path;

/// The file that PowerShell runs whenever it starts.
pub const PROFILE: &str = "~/Documents/PowerShell/Microsoft.PowerShell_profile.ps1";

impl Evaluator<'_, '_, '_, '_> {
    /// A variable by its name in lower case.
    pub fn variable(&mut self, name: &str) -> Option<PsValue> {
        let plain = plain_name(name);
        if let Some(value) = self.state.get(plain) {
            return Some(value);
        }
        if let Some(variable) = plain.strip_prefix("env:") {
            let taint = if is_secret_name(variable) { Taint::SECRET } else { Taint::default() };
            return Some(match windows_path::environment(variable) {
                Some(known) => PsValue::text(known),
                None => PsValue::unknown(taint),
            });
        }
        Some(match plain {
            "home" | "env:home" => PsValue::text("~"),
            "null" => PsValue::nothing(),
            "true" => PsValue::of(Kind::Bool(true), Taint::default()),
            "false" => PsValue::of(Kind::Bool(false), Taint::default()),
            "pwd" | "psscriptroot" => PsValue::text("."),
            "pshome" => PsValue::text("C:/Windows/System32/WindowsPowerShell/v1.0"),
            "profile" => PsValue::text(PROFILE),
            "args" | "input" => PsValue::unknown(Taint::default()),
            // Characters of these spell commands in hidden texts: `$pshome[4]`.
            "shellid" => PsValue::text("Microsoft.PowerShell"),
            "verbosepreference" => PsValue::text("SilentlyContinue"),
            _ => return None,
        })
    }
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_POWERSHELL_VARIABLES.iter().any(|sign| name.contains(sign))
}
