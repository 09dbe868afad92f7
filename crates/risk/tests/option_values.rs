//! One list of a program's options serves all its subcommands. A flag that is taken as the value of
//! an option, because another subcommand has one there, still counts for what makes a call worse.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::{Policy, Verdict};

fn assessed(command: &str) -> Assessment {
    let text = serde_json::json!({
        "command": command, "session": "s", "cwd": "/srv/shop", "project": "/srv/shop",
    });
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

#[test]
fn a_flag_behind_an_option_that_may_take_a_value_counts() {
    for command in [
        "git push -u -f origin main",
        "git push -uf origin main",
        "git push -u --force origin main",
        "git push -o -f origin main",
        "git checkout -tf main",
        "git clean -d -f",
        "git --config-env a.b=C reset --hard",
        "git -c a=b reset --hard",
        "docker rmi -nf image",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn a_value_that_looks_like_a_flag_lowers_nothing() {
    for command in ["git push -f -o --dry-run origin main", "git clean -f -e -n"] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn ordinary_values_stay_values() {
    for command in [
        "git push -u origin feature",
        "git commit -m fix",
        "git commit -mfix",
        "git log -n 5",
        "git checkout -b feature",
        "git switch -c feature",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}
