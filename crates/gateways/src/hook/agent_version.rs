//! The version of the agent program, as it says it: a label for people.

/// The variable in which agents name themselves and their version to the programs that they start:
/// `NAME_1-2-3_agent`.
pub const VARIABLE: &str = "AI_AGENT";

/// The longest version.
const MAX_VERSION: usize = 32;

/// The version in the value of [`VARIABLE`], if it is about this agent program.
pub fn version_in(value: &str, host: &str) -> Option<String> {
    let rest = value.strip_prefix(host)?.strip_prefix('_')?;
    let (version, _) = rest.split_once('_').unwrap_or((rest, ""));
    checked(version.replace('-', "."))
}

/// A version that can be shown: short, and of plain characters.
pub fn checked(version: String) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let fits = version.len() <= MAX_VERSION && version.starts_with(|c: char| c.is_ascii_digit());
    (fits && version.chars().all(is_plain)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_for_its_own_agent_only() {
        let read = |value| version_in(value, "some-agent");
        assert_eq!(read("some-agent_2-1-325_agent").as_deref(), Some("2.1.325"));
        assert_eq!(read("some-agent_2-1-325").as_deref(), Some("2.1.325"));
        let others = ["", "other_2-1_agent", "some-agent", "some-agent-2_1-0_agent", "some-agent_"];
        for other in others {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn only_short_plain_versions_are_shown() {
        for version in ["2.1.325", "0.61.0-nightly.20261116", "1.0+build"] {
            assert_eq!(checked(version.to_owned()).as_deref(), Some(version));
        }
        let long = "1".repeat(33);
        for bad in ["", "latest", "1 (approved by ana)", "1\u{202e}2", "1\n2", &long] {
            assert_eq!(checked(bad.to_owned()), None, "{bad:?}");
        }
    }
}
