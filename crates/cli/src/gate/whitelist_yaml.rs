//! A YAML list of commands with scopes (`approval: whitelist: - pattern: … scope: …`). Only plain
//! entries are read, one member on each line; everything else of YAML is left out or an error.

/// How many entries are read.
const MAX_ENTRIES: usize = 200;

/// An entry of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct YamlEntry {
    /// The line that it begins on.
    pub line: usize,
    /// The command.
    pub pattern: Option<String>,
    /// For how long.
    pub scope: Option<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

impl YamlEntry {
    fn set(&mut self, text: &str) {
        if let Err(problem) = self.read(text) {
            self.problem.get_or_insert(problem);
        }
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = member(text).ok_or("it is not `pattern: …` with `scope: …`")?;
        let slot = match name {
            "pattern" => &mut self.pattern,
            "scope" => &mut self.scope,
            _ => return Err(format!("it has `{name}`, which is not known")),
        };
        let value = scalar(value).ok_or_else(|| format!("its `{name}` is not a plain text"))?;
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(format!("it has two of `{name}`")),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Row<'t> {
    line: usize,
    indent: usize,
    text: &'t str,
}

impl Row<'_> {
    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

/// Reads the list; other sections of the file are skipped.
pub fn parse(text: &str) -> Result<Vec<YamlEntry>, String> {
    let rows = rows(text)?;
    let list = match rows.first() {
        Some(first) if first.is_item() => &rows,
        _ => match section(&rows, "approval")? {
            Some(approval) => section(approval, "whitelist")?.unwrap_or_default(),
            None => section(&rows, "whitelist")?.unwrap_or_default(),
        },
    };
    let Some(first) = list.first() else {
        return Err("there is no list `approval: whitelist:`".to_owned());
    };
    let mut found: Vec<YamlEntry> = Vec::new();
    for row in list {
        if row.indent == first.indent && row.is_item() {
            found.push(YamlEntry { line: row.line, ..YamlEntry::default() });
        } else if row.indent <= first.indent {
            return Err(format!("line {}: this is not an entry of the list", row.line));
        }
        let text = row.text.strip_prefix("- ").map_or(row.text, str::trim_start);
        found.last_mut().ok_or("the list has no entries")?.set(text);
    }
    if found.len() > MAX_ENTRIES {
        return Err(format!("the list has more than {MAX_ENTRIES} entries"));
    }
    Ok(found)
}

fn rows(text: &str) -> Result<Vec<Row<'_>>, String> {
    let mut found = Vec::new();
    for (line, whole) in (1..).zip(text.lines()) {
        let text = whole.trim_start_matches(' ');
        let is_start = text == "---" && found.is_empty();
        if text.trim().is_empty() || text.starts_with('#') || is_start {
            continue;
        }
        if text.starts_with('\t') || text.starts_with("---") || text == "..." {
            return Err(format!("line {line}: tabs and several documents cannot be read"));
        }
        found.push(Row { line, indent: whole.len() - text.len(), text: text.trim_end() });
    }
    Ok(found)
}

/// The rows below a name; an item of a list may stand as far left as the name itself.
fn section<'r, 't>(rows: &'r [Row<'t>], name: &str) -> Result<Option<&'r [Row<'t>]>, String> {
    let Some(indent) = rows.first().map(|row| row.indent) else { return Ok(None) };
    let is_name = |row: &Row<'_>| {
        row.indent == indent && member(row.text).is_some_and(|(known, _)| known == name)
    };
    let mut places = rows.iter().enumerate().filter(|(_, row)| is_name(row));
    let Some((at, row)) = places.next() else { return Ok(None) };
    if let Some((_, again)) = places.next() {
        return Err(format!("line {}: there are two of `{name}`", again.line));
    }
    let has_value = member(row.text).is_none_or(|(_, value)| scalar(value).is_some());
    if has_value || row.text.contains(['{', '[', '&', '*', '|', '>']) {
        return Err(format!("line {}: write the entries on lines of their own", row.line));
    }
    let below = rows.get(at + 1..).unwrap_or_default();
    let inside = |row: &&Row<'_>| row.indent > indent || (row.indent == indent && row.is_item());
    let end = below.iter().take_while(inside).count();
    Ok(below.get(..end))
}

/// The name and the value of `name: value`.
fn member(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once(':')?;
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(letter);
    (is_name && (value.is_empty() || value.starts_with(' '))).then(|| (name, value.trim()))
}

/// A text on one line, in quotes or plain, without its comment. None for everything else.
fn scalar(value: &str) -> Option<String> {
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first));
    let (text, rest) = match quote {
        Some(quote) => value.get(1..)?.split_once(quote)?,
        None => value.split_once(" #").unwrap_or((value, "")),
    };
    let is_end = quote.is_none() || rest.is_empty() || rest.trim_start().starts_with('#');
    // In double quotes a backslash, in single quotes a second quote stands for another character.
    let is_plain = !text.contains('\\') && !rest.starts_with('\'');
    let is_text = match quote {
        Some(_) => true,
        None => text.starts_with(|first: char| first.is_alphanumeric()) && !text.contains(": "),
    };
    let text = if quote.is_some() { text } else { text.trim() };
    (is_end && is_plain && is_text && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "model: x\ntools:\n  - pattern: rm -rf\n    scope: always\n\
        approval:\n  mode: ask\n  whitelist:\n    # routine\n\
        \x20   - pattern: \"git add .\" # Always safe in project dir\n      scope: session\n\
        \x20   - scope: always\n      pattern: npm install # routine\n\
        \x20 denied:\n    - pattern: curl x\n      scope: always\nlast:\n  - pattern: wget x\n";

    fn found(text: &str) -> Vec<(String, String)> {
        let plain = |entry: YamlEntry| match entry.problem {
            None => (entry.pattern.unwrap_or_default(), entry.scope.unwrap_or_default()),
            Some(problem) => (String::new(), problem),
        };
        parse(text).unwrap().into_iter().map(plain).collect()
    }

    #[test]
    fn only_the_entries_of_the_list_are_read() {
        let wanted = [("git add .", "session"), ("npm install", "always")];
        let wanted = wanted.map(|(pattern, scope)| (pattern.to_owned(), scope.to_owned()));
        assert_eq!(found(LIST), wanted);
        let alone = "---\n- pattern: 'git add .'\n  scope: session\n\
            - pattern: npm install\n  scope: always\n";
        assert_eq!(found(alone), wanted);
        let left = "whitelist:\n- pattern: git add .\n  scope: session\n\
            - pattern: npm install\n  scope: always\nother: x\n";
        assert_eq!(found(left), wanted);
    }

    #[test]
    fn an_entry_that_is_not_plain_has_a_problem() {
        for entry in [
            "- git add .",
            "-",
            "- pattern: a b\n  agent: x",
            "- pattern: a b\n  pattern: c d",
            "- pattern: [a, b]",
            "- pattern: *anchor",
            "- pattern: |\n    a b",
            "- pattern: \"a \\\"b\"",
            "- pattern: 'a ''b'",
            "- pattern: \"a b\" c",
            "- pattern:",
            "- {pattern: a b, scope: always}",
        ] {
            let entries = parse(&format!("whitelist:\n{entry}\n")).unwrap();
            assert!(entries.iter().all(|one| one.problem.is_some()), "{entry}: {entries:?}");
        }
    }

    #[test]
    fn a_file_that_means_something_else_is_rejected() {
        for text in [
            "",
            "a: b\n",
            "whitelist: []\n",
            "whitelist: &a\n  - pattern: a b\n",
            "approval: {whitelist: [x]}\n",
            "whitelist:\n  - pattern: a b\nwhitelist:\n  - pattern: c d\n",
            "whitelist:\n\t- pattern: a b\n",
            "whitelist:\n  pattern: a b\n",
            "whitelist:\n  - pattern: a b\n  scope: always\n",
            "- pattern: a b\n---\n- pattern: c d\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
