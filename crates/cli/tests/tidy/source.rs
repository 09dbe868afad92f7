//! Parts of Rust source: without unit tests, without comments, only the quoted texts.

/// The source before its unit tests, if they are in the same file. A declaration such as
/// `mod tests;` ends nothing: product code may follow it.
pub fn without_tests(text: &str) -> &str {
    let marks = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(crate) mod tests {"];
    let ends = marks.iter().filter_map(|mark| text.find(mark));
    ends.min().and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The source with comments and quoted texts blanked out. Line breaks stay.
pub fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = skipped(rest, next);
        let (taken, after) = rest.split_at(skipped.max(next.len_utf8()));
        if skipped == 0 {
            code.push(next);
        } else {
            code.push(' ');
            code.extend(taken.chars().filter(|c| *c == '\n'));
        }
        rest = after;
    }
    code
}

/// The quoted texts of the source, one per line.
pub fn texts(text: &str) -> String {
    let mut texts = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = skipped(rest, next);
        let (taken, after) = rest.split_at(skipped.max(next.len_utf8()));
        if skipped > 0 && !taken.starts_with('/') {
            texts.push_str(taken);
            texts.push('\n');
        }
        rest = after;
    }
    texts
}

/// How many bytes of comment, text or character begin here; 0 for code.
fn skipped(rest: &str, next: char) -> usize {
    match next {
        '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
        '"' => quoted(rest),
        'r' if rest.starts_with("r\"") => 1 + quoted_raw(rest),
        'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |at| at + 2),
        '\'' => character(rest),
        _ => 0,
    }
}

/// A raw text without `#`: it ends at its second quote.
fn quoted_raw(rest: &str) -> usize {
    rest.match_indices('"').nth(1).map_or(rest.len() - 1, |(at, _)| at)
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character such as `'"'` or `'\n'`; a lifetime is code.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next().unwrap_or_default();
    if first == '\\' {
        // The escaped character itself may be a quote.
        chars.next();
        return chars.find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => at + 1,
        _ => 0,
    }
}

#[test]
fn comments_and_texts_are_blanked_out() {
    let source = "use a::b; // use c::d\nlet x = \"use \\\" e\"; let y: &'a str = '\"'; f()";
    assert_eq!(code(source), "use a::b;  \nlet x =  ; let y: &'a str =  ; f()");
    assert_eq!(code("r#\"a \" b\"# c '\\'' d '\\u{1}' e"), "  c   d   e");
}

#[test]
fn code_behind_a_declaration_of_tests_is_kept() {
    let declared = "#[cfg(test)]\nmod tests;\nuse a::b;\n";
    assert_eq!(without_tests(declared), declared);
    let inside = "use a::b;\n#[cfg(test)]\nmod tests {\nuse c::d;\n}";
    assert_eq!(without_tests(inside), "use a::b;\n");
}
