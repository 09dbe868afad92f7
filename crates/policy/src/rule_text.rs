//! The values of plain rules, checked and as Cedar text.

use std::fmt::Write as _;

use countersign_workflow::grant::is_command_shape;

use crate::names;

/// A text as Cedar writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

pub fn any_of(fact: &str, values: &[String]) -> Option<String> {
    let list: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    (!list.is_empty()).then(|| format!("context.{fact}.containsAny([{}])", list.join(", ")))
}

pub fn one_of(fact: &str, values: &[String]) -> Option<String> {
    let list: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    (!list.is_empty()).then(|| format!("[{}].contains(context.{fact})", list.join(", ")))
}

pub fn list(
    field: &str,
    values: &[String],
    check: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<Vec<String>, String> {
    let check = |value: &String| {
        check(value.trim()).map_err(|problem| format!("{field}: `{value}` {problem}"))
    };
    values.iter().map(check).collect()
}

/// The first words of a command, without the last: of a command that is open there, the rule cannot
/// know whether it is the one. An empty text is a program that is not known.
pub fn above(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split(' ').collect();
    (1..words.len()).filter_map(|length| words.get(..length)).map(|some| some.join(" ")).collect()
}

pub fn command_words(text: &str) -> Result<String, &'static str> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _./:@,+-=".contains(&byte);
    if words.is_empty() || !text.bytes().all(plain) {
        return Err("is not a command of plain words, such as `git push`");
    }
    if words.first().is_some_and(|program| program.contains('/')) {
        return Err("begins with a path; write the name of the program");
    }
    Ok(words.join(" "))
}

pub fn allowed_command(text: &str) -> Result<String, &'static str> {
    let words = command_words(text)?;
    if is_command_shape(&words) {
        Ok(words)
    } else {
        Err("is too wide to be allowed: write a program and at least one more word, and no option \
             at the end")
    }
}

pub fn path(text: &str) -> Result<String, &'static str> {
    let wanted = "is not an absolute path, or one that begins with `~/`, without `*`";
    let found = names::path_and_above(text, None).ok_or(wanted)?;
    // The longest is the path itself.
    found.into_iter().max_by_key(String::len).filter(|_| !text.contains(['*', '?'])).ok_or(wanted)
}

pub fn host(text: &str) -> Result<String, &'static str> {
    let wanted = "is not a host or a domain, such as `example.com`";
    let found = names::host_and_domains(text).ok_or(wanted)?;
    found.into_iter().max_by_key(String::len).ok_or(wanted)
}

pub fn recipient(text: &str) -> Result<String, &'static str> {
    let text = text.to_lowercase();
    if text.is_empty() { Err("is empty") } else { Ok(text) }
}
