//! A long option may be shortened (`sort --outp=FILE`). Whatever it is shortened to, a command does
//! not become less risky.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::rules;
use countersign_risk::verdict::{Policy, Verdict};
use countersign_types::tier::Tier;

fn assessed(command: &str) -> Assessment {
    let text = serde_json::json!({
        "command": command, "session": "s", "cwd": "/srv/shop", "project": "/srv/shop",
    });
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

#[test]
fn a_shortened_option_does_what_the_whole_one_does() {
    for (short, whole) in [
        ("sort --outpu=/etc/passwd a", "sort --output=/etc/passwd a"),
        ("sort --o /etc/passwd a", "sort --output /etc/passwd a"),
        ("sed --in-pl s/a/b/ /etc/passwd", "sed --in-place s/a/b/ /etc/passwd"),
        ("cp --target-dir=/etc a", "cp --target-directory=/etc a"),
        ("tar --dir=/ -xf a.tar", "tar --directory=/ -xf a.tar"),
        ("wget --output-doc=/etc/passwd h", "wget --output-document=/etc/passwd h"),
        ("git push --forc origin main", "git push --force origin main"),
        ("git reset --har", "git reset --hard"),
        ("env --unset X --chd /etc tee passwd", "env --unset X --chdir /etc tee passwd"),
        ("env --uns X --chd /etc tee passwd", "env --unset X --chdir /etc tee passwd"),
        ("rm --recurs --forc /var/www", "rm --recursive --force /var/www"),
    ] {
        let (short_tier, whole_tier) = (assessed(short).tier, assessed(whole).tier);
        assert!(whole_tier >= Tier::Medium, "{whole}: {whole_tier:?}");
        assert!(short_tier >= whole_tier, "{short}: {short_tier:?}, {whole}: {whole_tier:?}");
    }
}

/// `command` with one long option shortened by its last letters, for every way to do so that still
/// is an option.
fn shortened(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split(' ').collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, value) = word.split_at(word.find('=').unwrap_or(word.len()));
        let plain = |c: char| c.is_ascii_alphabetic() || c == '-';
        if !name.starts_with("--") || name.len() < 8 || !name.chars().all(plain) {
            continue;
        }
        for cut in [name.len() - 1, name.len() - 2] {
            let short = format!("{}{value}", name.get(..cut).unwrap());
            let mut words = words.clone();
            *words.get_mut(at).unwrap() = &short;
            found.push(words.join(" "));
        }
    }
    found
}

/// The program has an option with the shorter name, too.
fn is_another_option(command: &str) -> bool {
    ["op item get db --field ", "down --volume"].iter().any(|known| command.contains(known))
}

#[test]
fn shortening_an_option_of_any_example_of_any_rule_lowers_nothing() {
    let (mut tried, mut lower) = (0, Vec::new());
    for rule in rules::commands().filter(|rule| rule.tier >= Tier::Medium) {
        // A program that nobody described asks, whatever its options are.
        for example in rule.examples.iter().filter(|line| !line.starts_with("frob ")) {
            let whole = assessed(example).tier;
            for short in shortened(example).iter().filter(|short| !is_another_option(short)) {
                tried += 1;
                let tier = assessed(short).tier;
                if tier < whole {
                    lower.push(format!("{tier:?} < {whole:?}: {short}"));
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(lower.is_empty(), "{} of {tried}:\n{}", lower.len(), lower.join("\n"));
}

#[test]
fn whole_options_are_not_taken_for_shortened_ones() {
    for command in [
        "git fetch --all",
        "git commit --no-verify -m fix",
        "git commit --amend --no-edit",
        "sort --key=2 a",
        "cargo test --workspace --all",
        "npm test --silent",
        "grep --color=auto x a",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}
