//! The statements of a migration in short, those that remove something first.

/// The longest statement that is shown, in characters.
const MAX_STATEMENT: usize = 90;
/// Words of statements that remove something.
const REMOVING: [&str; 5] = ["drop", "truncate", "delete", "remove", "execute"];

/// The statements of a file, without comments and texts.
pub fn statements(text: &str, is_sql: bool) -> Vec<String> {
    let mut found = if is_sql { sql_statements(text) } else { code_lines(text) };
    let removes = |statement: &String| {
        let lower = statement.to_ascii_lowercase();
        REMOVING.iter().any(|word| lower.contains(word))
    };
    found.sort_by_key(|statement| !removes(statement));
    found
}

/// The calls of a migration in Python or Ruby.
fn code_lines(text: &str) -> Vec<String> {
    let is_call = |line: &&str| {
        let words = ["op.", "create_", "add_", "change_", "rename_"];
        let lower = line.to_ascii_lowercase();
        let is_code = !line.starts_with(['#', '"', '\'']) && !line.starts_with("def ");
        let names = words.iter().any(|word| lower.starts_with(word));
        is_code && (names || REMOVING.iter().any(|word| lower.contains(word)))
    };
    text.lines().map(str::trim).filter(is_call).map(shortened).collect()
}

fn sql_statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut statement, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next() {
        let end = |mark: &str| rest.find(mark).map_or(rest.len(), |at| at + mark.len());
        let length = match letter {
            _ if rest.starts_with("--") => end("\n"),
            _ if rest.starts_with("/*") => end("*/"),
            '\'' => {
                statement.push_str("'…'");
                let inner = rest.get(1..).unwrap_or_default();
                inner.find('\'').map_or(rest.len(), |at| at + 2)
            }
            ';' => {
                found.push(std::mem::take(&mut statement));
                1
            }
            other => {
                statement.push(other);
                other.len_utf8()
            }
        };
        if rest.starts_with("--") || rest.starts_with("/*") {
            statement.push(' ');
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    found.push(statement);
    found.iter().map(|text| shortened(text)).filter(|text| !text.is_empty()).collect()
}

/// A statement on one line.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut short: String = text.chars().take(MAX_STATEMENT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_statements_come_first_and_texts_are_left_out() {
        let text = "-- DROP TABLE x;\nCREATE TABLE a (b text);\nINSERT INTO a VALUES ('it''s; \
                    DROP');\n/* ; */ ALTER TABLE a\n  DROP COLUMN b;";
        let found = statements(text, true);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "ALTER TABLE a DROP COLUMN b");
        let code = "def upgrade():\n    # op.drop_table('x')\n    op.add_column('a', b)\n    \
                    op.drop_table('users')\n";
        assert_eq!(statements(code, false), ["op.drop_table('users')", "op.add_column('a', b)"]);
    }
}
