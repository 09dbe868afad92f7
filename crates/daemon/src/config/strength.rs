//! Settings that are a number or a step, each with how strict it is.

use countersign_risk::context::Environment;
use countersign_types::tier::Points;
use countersign_workflow::assurance::Assurance;

/// One of them: the higher the strength, the stricter.
pub struct SettingStrength {
    pub name: &'static str,
    pub strength: u64,
    pub shown: String,
}

/// How carefully calls are assessed in an environment.
pub const fn caution(environment: Environment) -> u64 {
    match environment {
        Environment::Container => 0,
        Environment::Ci => 1,
        Environment::Workstation => 2,
        Environment::Production => 3,
    }
}

/// A number, of which more is stricter.
pub fn more(name: &'static str, value: u64) -> SettingStrength {
    SettingStrength { name, strength: value, shown: value.to_string() }
}

/// A number, of which less is stricter.
pub fn less(name: &'static str, value: u64) -> SettingStrength {
    SettingStrength { name, strength: u64::MAX - value, shown: value.to_string() }
}

/// Points below which the judge may pass calls.
pub fn points(name: &'static str, Points(points): Points) -> SettingStrength {
    let shown = hundredths(points);
    SettingStrength { name, strength: u64::from(u16::MAX - points), shown }
}

/// Hundredths as a number.
pub fn hundredths(value: u16) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

/// The assurance of an approval.
pub fn assurance(name: &'static str, needed: Assurance) -> SettingStrength {
    let at = Assurance::ALL.iter().take_while(|one| **one != needed).count();
    let strength = u64::try_from(at).unwrap_or_default();
    SettingStrength { name, strength, shown: needed.label().to_owned() }
}
