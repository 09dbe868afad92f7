//! `ages.toml` → signs that the person who writes may be under 18, as words.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use countersign_text::words::split_words;
use serde::Deserialize;

/// Stands for an age.
const AGE: &str = "#";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    review: String,
    language: Vec<Language>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    lang: String,
    numbers: String,
    follow: String,
    #[serde(default)]
    not_before: String,
    #[serde(default)]
    not_after: String,
    signs: Vec<String>,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

/// Reads the signs and writes them as a table, ordered by their first word.
pub fn generate(path: &Path, out: &mut String) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    if file.review.is_empty() {
        return Err("ages.toml: no review note".to_owned());
    }
    let mut signs: BTreeSet<(Vec<String>, usize)> = BTreeSet::new();
    let mut languages = String::from("static AGE_LANGUAGES: &[AgeLanguage] = &[\n");
    let mut examples =
        String::from("#[cfg(test)]\nstatic AGE_EXAMPLES: &[(&str, &str, bool)] = &[\n");
    for (number, one) in file.language.iter().enumerate() {
        if one.examples.len() < 4 || one.counter_examples.len() < 4 {
            return Err(format!("ages.toml: {}: needs four examples of each kind", one.lang));
        }
        let _ = writeln!(
            languages,
            "AgeLanguage {{ numbers: &{:?}, follow: &{:?}, not_before: &{:?}, not_after: &{:?} }},",
            list(&one.numbers)?,
            list(&one.follow)?,
            list(&one.not_before)?,
            list(&one.not_after)?,
        );
        for sign in &one.signs {
            for text in expand(sign)? {
                signs.insert((words(&text)?, number));
            }
        }
        for (texts, is_age) in [(&one.examples, true), (&one.counter_examples, false)] {
            for text in texts {
                let _ = writeln!(examples, "({:?}, {text:?}, {is_age}),", one.lang);
            }
        }
    }
    let mut table = String::from("static AGE_SIGNS: &[AgeSign] = &[\n");
    for (words, language) in &signs {
        let _ = writeln!(table, "AgeSign {{ words: &{words:?}, language: {language} }},");
    }
    for part in [&languages, &examples, &table] {
        out.push_str(part);
        out.push_str("];\n");
    }
    Ok(())
}

/// Words that must be one word each after folding.
fn list(text: &str) -> Result<Vec<String>, String> {
    text.split_whitespace().map(|word| Ok(words(word)?.concat())).collect()
}

/// The folded words of a text; an age stays as it is.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for piece in text.split_whitespace() {
        if piece == AGE {
            out.push(AGE.to_owned());
            continue;
        }
        out.extend(split_words(piece).into_iter().map(|word| word.text).filter(|w| !w.is_empty()));
    }
    if out.first().is_none_or(|first| first == AGE) {
        return Err(format!("ages.toml: {text}: begins with no word"));
    }
    Ok(out)
}

/// Every combination of the alternatives of a sign.
fn expand(sign: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = sign.split_once('(') else { return Ok(vec![sign.to_owned()]) };
    let (group, rest) = rest.split_once(')').ok_or(format!("ages.toml: {sign}: missing )"))?;
    let (optional, rest) = rest.strip_prefix('?').map_or((false, rest), |rest| (true, rest));
    let mut out = Vec::new();
    for choice in group.split('|').chain(optional.then_some("")) {
        out.extend(expand(rest)?.into_iter().map(|rest| format!("{before}{choice}{rest}")));
    }
    Ok(out)
}
