//! Configurations that are read, and such that are refused.

use super::*;

fn paths() -> Paths {
    Paths { config: "/c".into(), state: "/s".into(), runtime: "/r".into() }
}

fn refused(text: &str) -> String {
    Config::read(text, &paths()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn an_empty_file_means_the_seed_s_defaults() {
    let config = Config::read("", &paths()).unwrap();
    assert_eq!(config.agents.to_string(), "127.0.0.1:6000");
    assert_eq!(config.people.to_string(), "127.0.0.1:6001");
    assert_eq!(config.rules.mode, Mode::Enforce);
    assert_eq!(config.rules.times.usual, Span::seconds(300));
    assert_eq!(config.store, PathBuf::from("/s/countersign.db"));
}

#[test]
fn the_example_is_the_default() {
    let example = Config::read(EXAMPLE, &paths()).unwrap();
    let usual = Config::read("", &paths()).unwrap();
    assert_eq!(format!("{example:?}"), format!("{usual:?}"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_field() {
    for (text, field) in [
        ("mode = \"off\"", "mode"),
        ("[doors]\nagents = \"6000\"", "doors.agents"),
        ("[times]\nusual_seconds = 0", "times.usual_seconds"),
        ("[times]\nlongest_seconds = 60\nusual_seconds = 61", "times.usual_seconds"),
        ("[quorum]\ncritical = 0", "quorum.critical"),
        ("[judgement]\nlow_confidence = 7", "judgement.low_confidence"),
        ("[judgement]\nlow_confidence = nan", "judgement.low_confidence"),
        ("[crisis]\ncountry = \"XX\"", "crisis.country"),
        ("[ladder]\nfirst = [\"carrier-pigeon\"]", "carrier-pigeon"),
        ("[store]\npath = \"db\"", "store.path"),
        ("[surprise]", "surprise"),
        ("mode = 3", "mode"),
    ] {
        assert!(refused(text).contains(field), "{text}: {}", refused(text));
    }
}

#[test]
fn the_hash_follows_what_decides() {
    let hash = |text| Config::read(text, &paths()).unwrap().rules.hash;
    assert_eq!(hash(""), hash("mode = \"enforce\""));
    assert_ne!(hash(""), hash("mode = \"observe\""));
    assert_ne!(hash(""), hash("[quorum]\nhigh = 2"));
}
