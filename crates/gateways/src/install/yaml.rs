//! Edits one word in a list of a YAML file, line by line. A file in any other form is refused, with
//! the lines to add by hand.

use super::edit::{Patch, PatchError};

/// `word` in the list `list` of the mapping `top`, such as `plugins: {enabled: [word]}`.
pub struct WordInList {
    /// The top-level name.
    pub top: &'static str,
    /// The name of the list below it.
    pub list: &'static str,
    /// The word.
    pub word: &'static str,
}

/// Where the list is in the lines of a file.
enum ListPosition {
    /// There is no such mapping.
    NoMapping,
    /// The mapping begins at this line, with this indentation; it has no such list.
    NoList { head: usize, indent: String },
    /// The list is in one line, between brackets.
    Flow { at: usize },
    /// The items of the list are below this line.
    Block { head: usize, indent: String, items: Vec<usize> },
}

impl WordInList {
    fn refuse<T>(&self, why: &str) -> Result<T, PatchError> {
        let WordInList { top, list, word } = self;
        Err(PatchError(format!(
            "{why}; add the entry by hand: `{top}:`, below it `{list}:`, below that `- {word}`"
        )))
    }

    /// The words of the list.
    pub fn words(&self, text: &str) -> Result<Vec<String>, PatchError> {
        let lines: Vec<&str> = text.lines().collect();
        match self.find(&lines)? {
            ListPosition::NoMapping | ListPosition::NoList { .. } => Ok(Vec::new()),
            ListPosition::Flow { at } => {
                self.flow(lines.get(at).unwrap_or(&"")).map(|(_, words, _)| words)
            }
            ListPosition::Block { items, .. } => {
                let item = |at: &usize| lines.get(*at).and_then(|line| item_of(line));
                Ok(items.iter().filter_map(item).collect())
            }
        }
    }

    fn find(&self, lines: &[&str]) -> Result<ListPosition, PatchError> {
        if lines.iter().any(|line| line.starts_with('\t') || line.trim_end() == "---") {
            return self.refuse("it contains tabs or several documents");
        }
        let foreign = |line: &&str| !line.starts_with(' ') && !is_comment(line) && !is_name(line);
        if lines.iter().any(foreign) {
            return self.refuse("it is not a plain list of names and values");
        }
        let is_top = |line: &&str| value_under(line, self.top).is_some();
        let mut heads = lines.iter().enumerate().filter(|(_, line)| is_top(line));
        let Some((head, line)) = heads.next() else { return Ok(ListPosition::NoMapping) };
        if heads.next().is_some() {
            return self.refuse(&format!("it contains `{}` twice", self.top));
        }
        if value_under(line, self.top) != Some("") {
            return self.refuse(&format!("`{}` is not written as a block", self.top));
        }
        let below = lines.iter().enumerate().skip(head + 1);
        let inside: Vec<(usize, &str)> = below
            .map(|(at, line)| (at, *line))
            .take_while(|(_, line)| line.starts_with(' ') || is_comment(line))
            .filter(|(_, line)| !is_comment(line))
            .collect();
        let Some(indent) = inside.first().map(|(_, line)| indent_of(line)) else {
            return Ok(ListPosition::NoList { head, indent: "  ".to_owned() });
        };
        let own = |line| member_at(line, &indent, self.list);
        let mut lists = inside.iter().filter(|(_, line)| own(line).is_some());
        let Some(&(at, line)) = lists.next() else {
            return Ok(ListPosition::NoList { head, indent });
        };
        if lists.next().is_some() {
            return self.refuse(&format!("it contains `{}` twice", self.list));
        }
        match own(line) {
            Some("") => self.block(at, &indent, &inside),
            Some(value) if value.starts_with('[') => Ok(ListPosition::Flow { at }),
            _ => self.refuse(&format!("`{}` is not a list", self.list)),
        }
    }

    fn block(
        &self,
        head: usize,
        indent: &str,
        inside: &[(usize, &str)],
    ) -> Result<ListPosition, PatchError> {
        let is_item = |line: &str| {
            line.trim_start().starts_with("- ") && indent_of(line).len() >= indent.len()
        };
        let below: Vec<(usize, &str)> = inside
            .iter()
            .copied()
            .skip_while(|(at, _)| *at <= head)
            .take_while(|(_, line)| indent_of(line).len() > indent.len() || is_item(line))
            .collect();
        let depth =
            below.first().map_or_else(|| format!("{indent}  "), |(_, line)| indent_of(line));
        if below.iter().any(|(_, line)| indent_of(line) != depth || item_of(line).is_none()) {
            return self.refuse(&format!("`{}` contains more than plain words", self.list));
        }
        let items = below.iter().map(|(at, _)| *at).collect();
        Ok(ListPosition::Block { head, indent: depth, items })
    }

    /// A list in one line: the text before it, its words, and the text after it.
    fn flow<'a>(&self, line: &'a str) -> Result<(&'a str, Vec<String>, &'a str), PatchError> {
        let parts = line.split_once('[').and_then(|(before, rest)| {
            let (inner, after) = rest.split_once(']')?;
            (after.trim().is_empty() || after.trim_start().starts_with('#'))
                .then_some((before, inner, after))
        });
        let Some((before, inner, after)) = parts else {
            return self.refuse(&format!("`{}` is not in one line", self.list));
        };
        let words: Option<Vec<String>> =
            inner.split(',').map(str::trim).filter(|it| !it.is_empty()).map(word_of).collect();
        match words {
            Some(words) => Ok((before, words, after)),
            None => self.refuse(&format!("`{}` contains more than plain words", self.list)),
        }
    }
}

impl Patch for WordInList {
    fn apply(&self, text: &str) -> Result<String, PatchError> {
        let WordInList { top, list, word } = self;
        if self.words(text)?.iter().any(|it| it == word) {
            return Ok(text.to_owned());
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        match self.find(&lines)? {
            ListPosition::NoMapping => {
                out.extend([format!("{top}:"), format!("  {list}:"), format!("    - {word}")]);
            }
            ListPosition::NoList { head, indent } => {
                let new = [format!("{indent}{list}:"), format!("{indent}  - {word}")];
                let behind = out.split_off(head + 1);
                out.extend(new.into_iter().chain(behind));
            }
            ListPosition::Block { head, indent, items } => {
                let at = items.last().unwrap_or(&head) + 1;
                out.insert(at, format!("{indent}- {word}"));
            }
            ListPosition::Flow { at } => {
                let (before, words, after) = self.flow(lines.get(at).unwrap_or(&""))?;
                let gap = if words.is_empty() { "" } else { ", " };
                let line = lines.get(at).unwrap_or(&"");
                let inner = line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                let inner = inner.unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
                if let Some(slot) = out.get_mut(at) {
                    *slot = format!("{before}[{inner}{gap}{word}]{after}");
                }
            }
        }
        Ok(joined(&out, text))
    }

    fn remove(&self, text: &str) -> Result<String, PatchError> {
        let lines: Vec<&str> = text.lines().collect();
        if !self.words(text)?.iter().any(|it| it == self.word) {
            return Ok(text.to_owned());
        }
        let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        match self.find(&lines)? {
            ListPosition::NoMapping | ListPosition::NoList { .. } => {}
            ListPosition::Block { head, items, .. } => {
                let ours = |at: &&usize| {
                    lines.get(**at).and_then(|line| item_of(line)).as_deref() == Some(self.word)
                };
                let (out_items, left): (Vec<_>, Vec<_>) = items.iter().partition(ours);
                let mut gone: Vec<usize> = out_items.into_iter().copied().collect();
                if left.is_empty() {
                    // A name with nothing below it means "null" to YAML, not an empty list.
                    gone.push(head);
                    let top = lines.iter().position(|line| value_under(line, self.top).is_some());
                    let others = lines.iter().enumerate().skip(top.unwrap_or(0) + 1);
                    let mut others = others
                        .take_while(|(_, line)| line.starts_with(' ') || is_comment(line))
                        .filter(|(at, line)| !gone.contains(at) && line.starts_with(' '));
                    if others.next().is_none() {
                        gone.extend(top);
                    }
                }
                gone.sort_unstable();
                for at in gone.into_iter().rev() {
                    out.remove(at);
                }
            }
            ListPosition::Flow { at } => {
                let (before, words, after) = self.flow(lines.get(at).unwrap_or(&""))?;
                let left: Vec<String> = words.into_iter().filter(|it| it != self.word).collect();
                if let Some(slot) = out.get_mut(at) {
                    *slot = format!("{before}[{}]{after}", left.join(", "));
                }
            }
        }
        Ok(joined(&out, text))
    }

    fn is_blank(&self, text: &str) -> bool {
        text.trim().is_empty()
    }
}

fn joined(lines: &[String], like: &str) -> String {
    let end = if like.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = lines.join(end);
    if (like.is_empty() || like.ends_with('\n')) && !text.is_empty() {
        text.push_str(end);
    }
    text
}

/// Whether a line is a plain top-level `name:`.
fn is_name(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else { return false };
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    name.trim_end().chars().all(plain) && (rest.is_empty() || rest.starts_with([' ', '\r']))
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// The text after `name:` in a line with exactly this indentation.
fn member_at<'a>(line: &'a str, indent: &str, name: &str) -> Option<&'a str> {
    if indent_of(line) == indent { value_under(line.trim_start(), name) } else { None }
}

fn indent_of(line: &str) -> String {
    line.chars().take_while(|letter| *letter == ' ').collect()
}

/// The text after `name:` in a line, without a comment.
fn value_under<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(name)?.trim_start().strip_prefix(':')?;
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let rest = rest.trim();
    Some(if rest.starts_with('#') { "" } else { rest })
}

/// The word of a line such as `- word  # comment`.
fn item_of(line: &str) -> Option<String> {
    let item = line.trim_start().strip_prefix("- ")?;
    let item = item.split_once(" #").map_or(item, |(item, _)| item);
    word_of(item.trim())
}

/// A plain or quoted word; `None` for anything else.
fn word_of(text: &str) -> Option<String> {
    let quoted = |mark: char| text.strip_prefix(mark).and_then(|it| it.strip_suffix(mark));
    let word = quoted('"').or_else(|| quoted('\'')).unwrap_or(text);
    let plain = |letter: char| letter.is_alphanumeric() || "-_./@ ".contains(letter);
    (!word.is_empty() && word.chars().all(plain)).then(|| word.to_owned())
}
