//! The word tables: verbs, nouns, argument names, named actions, shapes of secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::examples::Examples;

use super::{HUMAN, ROLES, TIERS, effects, find, first_bytes, sentence};

const CLASSES: &[(&str, &str)] = &[
    ("read", "Class::Read"),
    ("find", "Class::Find"),
    ("take", "Class::Take"),
    ("write", "Class::Write"),
    ("manage", "Class::Manage"),
    ("delete", "Class::Delete"),
    ("send", "Class::Send"),
    ("money", "Class::Money"),
    ("commit", "Class::Commit"),
    ("grant", "Class::Grant"),
    ("exec", "Class::Exec"),
    ("delegate", "Class::Delegate"),
    ("control", "Class::Control"),
    ("end", "Class::End"),
];

#[derive(Deserialize)]
struct Verbs {
    verb: Vec<Verb>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verb {
    class: String,
    id: String,
    tier: String,
    effects: Vec<String>,
    #[serde(default)]
    irreversible: bool,
    #[serde(default)]
    decides: bool,
    message: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
    #[serde(default)]
    strong: Vec<String>,
    #[serde(default)]
    either: Vec<String>,
    #[serde(default)]
    weak: Vec<String>,
}

#[derive(Deserialize)]
struct Nouns {
    noun: Vec<Noun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Noun {
    id: String,
    words: Vec<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
    #[serde(default)]
    mild: bool,
    #[serde(default)]
    human: Option<String>,
    #[serde(default)]
    effects: Vec<String>,
    on: BTreeMap<String, String>,
}

type Lists = BTreeMap<String, Vec<String>>;

/// `verbs.toml` → `VERBS`, `VERB_WORDS`.
pub fn verbs(source: &str, out: &mut String, examples: &mut Examples) -> Result<(), String> {
    let file: Verbs = toml::from_str(source).map_err(|e| format!("verbs.toml: {e}"))?;
    let mut words = BTreeMap::new();
    out.push_str("pub(super) static VERBS: &[Verb] = &[\n");
    for (at, verb) in file.verb.iter().enumerate() {
        sentence(&verb.message)?;
        examples.add(&verb.id, &verb.examples, &verb.counter_examples)?;
        let _ = writeln!(
            out,
            "Verb {{ class: {}, code: \"tool.verb.{}\", tier: {}, effects: {}, \
             irreversible: {}, decides: {}, message: {:?} }},",
            find(CLASSES, &verb.class)?,
            verb.id,
            find(TIERS, &verb.tier)?,
            effects(&verb.effects)?,
            verb.irreversible,
            verb.decides,
            verb.message,
        );
        let lists = [(&verb.strong, "Strong"), (&verb.either, "Either"), (&verb.weak, "Weak")];
        for (list, strong) in lists {
            for word in list {
                if words.insert(word.clone(), (at, strong)).is_some() {
                    return Err(format!("the verb {word} stands twice"));
                }
            }
        }
    }
    out.push_str("];\nstatic VERB_WORDS: &[(u64, &str, (u8, Strength))] = &[\n");
    for (word, (at, strong)) in &words {
        let _ = writeln!(out, "({}, {word:?}, ({at}, Strength::{strong})),", first_bytes(word));
    }
    out.push_str("];\n");
    Ok(())
}

/// `nouns.toml` → `NOUNS`, `NOUN_WORDS`.
pub fn nouns(source: &str, out: &mut String, examples: &mut Examples) -> Result<(), String> {
    let file: Nouns = toml::from_str(source).map_err(|e| format!("nouns.toml: {e}"))?;
    let mut words = BTreeMap::new();
    out.push_str("pub(super) static NOUNS: &[Noun] = &[\n");
    for (at, noun) in file.noun.iter().enumerate() {
        if !noun.mild {
            sentence(&noun.message)?;
            examples.add(&noun.id, &noun.examples, &noun.counter_examples)?;
        }
        let mut on = String::new();
        for (class, tier) in &noun.on {
            let _ = write!(on, "({}, {}), ", find(CLASSES, class)?, find(TIERS, tier)?);
        }
        let _ = writeln!(
            out,
            "Noun {{ code: \"tool.about.{}\", message: {:?}, mild: {}, human: {}, effects: {}, \
             on: &[{on}] }},",
            noun.id,
            noun.message,
            noun.mild,
            find(HUMAN, noun.human.as_deref().unwrap_or("none"))?,
            effects(&noun.effects)?,
        );
        for word in &noun.words {
            let key: String = word.chars().filter(|c| *c != ' ').collect();
            if words.insert(key, at).is_some() {
                return Err(format!("the noun {word} stands twice"));
            }
        }
    }
    out.push_str("];\nstatic NOUN_WORDS: &[(u64, &str, u8)] = &[\n");
    for (word, at) in &words {
        let _ = writeln!(out, "({}, {word:?}, {at}),", first_bytes(word));
    }
    out.push_str("];\n");
    Ok(())
}

/// `arguments.toml`: role → names → `ARGUMENT_NAMES`.
pub fn arguments(source: &str, out: &mut String) -> Result<(), String> {
    let lists: Lists = toml::from_str(source).map_err(|e| format!("arguments.toml: {e}"))?;
    table(&lists, ROLES, "static ARGUMENT_NAMES: &[(u64, &str, Role)]", out)
}

/// `exec_arguments.toml`: role → names → `EXEC_ARGUMENTS`.
pub fn exec_arguments(source: &str, out: &mut String) -> Result<(), String> {
    let lists: Lists = toml::from_str(source).map_err(|e| format!("exec_arguments.toml: {e}"))?;
    table(&lists, ROLES, "static EXEC_ARGUMENTS: &[(u64, &str, Role)]", out)
}

/// `autorun.toml` → `AUTORUN_FILES`, `AUTORUN_DANGERS`.
pub fn autorun(source: &str, out: &mut String) -> Result<(), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Autorun {
        files: Vec<String>,
        dangers: Vec<String>,
    }
    let file: Autorun = toml::from_str(source).map_err(|e| format!("autorun.toml: {e}"))?;
    let _ = writeln!(out, "pub(super) static AUTORUN_FILES: &[&str] = &{:?};", file.files);
    let _ = writeln!(out, "pub(super) static AUTORUN_DANGERS: &[&str] = &{:?};", file.dangers);
    Ok(())
}

/// `server_words.toml` → `IGNORED_SERVER_WORDS`, in a file of its own.
pub fn server_words(source: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ServerWords {
        ignored: Vec<String>,
    }
    let file: ServerWords =
        toml::from_str(source).map_err(|e| format!("server_words.toml: {e}"))?;
    Ok(format!("static IGNORED_SERVER_WORDS: &[&str] = &{:?};\n", file.ignored))
}

/// `actions.toml`: tier → names → `ACTIONS`.
pub fn actions(source: &str, out: &mut String) -> Result<(), String> {
    let lists: Lists = toml::from_str(source).map_err(|e| format!("actions.toml: {e}"))?;
    table(&lists, TIERS, "static ACTIONS: &[(u64, &str, Tier)]", out)
}

/// `secrets.toml`: how well-known secrets begin → `SECRET_STARTS`.
pub fn secrets(source: &str, out: &mut String) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Secrets {
        secret: Vec<Secret>,
    }
    #[derive(Deserialize)]
    struct Secret {
        start: String,
        least: usize,
        name: String,
    }
    let file: Secrets = toml::from_str(source).map_err(|e| format!("secrets.toml: {e}"))?;
    out.push_str("pub(super) static SECRET_STARTS: &[(&str, usize, &str)] = &[\n");
    for secret in &file.secret {
        let _ = writeln!(out, "({:?}, {}, {:?}),", secret.start, secret.least, secret.name);
    }
    out.push_str("];\n");
    Ok(())
}

fn table(
    lists: &Lists,
    meanings: &[(&str, &'static str)],
    head: &str,
    out: &mut String,
) -> Result<(), String> {
    let mut words = BTreeMap::new();
    for (meaning, names) in lists {
        let code = find(meanings, meaning)?;
        for name in names {
            if words.insert(name.clone(), code).is_some() {
                return Err(format!("the word {name} stands twice"));
            }
        }
    }
    let _ = writeln!(out, "{head} = &[");
    for (word, code) in &words {
        let _ = writeln!(out, "({}, {word:?}, {code}),", first_bytes(word));
    }
    out.push_str("];\n");
    Ok(())
}
