//! The examples of every rule, in tables of their own: the rules themselves do not refer to them,
//! so that a program which only judges calls does not carry them.

use std::fmt::Write as _;
use std::path::Path;

/// How many examples, and how many counter-examples, each rule needs.
const MINIMUM: usize = 2;

/// The same for rules about tools and code. Once each of them has two examples and two
/// counter-examples: delete this constant and `Examples::of_tools_or_code`, and call
/// `Examples::new` in `tools.rs`, `code.rs` and `sql.rs`.
const MINIMUM_OF_TOOLS_AND_CODE: (usize, usize) = (1, 0);

/// The table of one set of rules, in the order of the rules.
pub struct Examples {
    name: String,
    minimum: (usize, usize),
    rows: String,
}

impl Examples {
    /// An empty table with this name.
    pub fn new(name: &str) -> Examples {
        Examples { name: name.to_owned(), minimum: (MINIMUM, MINIMUM), rows: String::new() }
    }

    /// The same for rules about tools or code.
    pub fn of_tools_or_code(name: &str) -> Examples {
        Examples { minimum: MINIMUM_OF_TOOLS_AND_CODE, ..Examples::new(name) }
    }

    /// Adds what the next rule must match and what it must not.
    pub fn add(&mut self, id: &str, matching: &[String], other: &[String]) -> Result<(), String> {
        let (found, needed) = ((matching.len(), other.len()), self.minimum);
        if found.0 < needed.0 || found.1 < needed.1 {
            return Err(format!(
                "rule `{id}` has {} examples and {} counter-examples; it needs {} and {}",
                found.0, found.1, needed.0, needed.1
            ));
        }
        let twice = |line: &String| matching.iter().chain(other).filter(|l| *l == line).count() > 1;
        if let Some(line) = matching.iter().chain(other).find(|line| twice(line)) {
            return Err(format!("rule `{id}` has the example `{line}` twice"));
        }
        self.row(matching, other);
        Ok(())
    }

    /// Adds a rule that only adds effects: it leaves no finding to check.
    pub fn add_silent(&mut self) {
        self.row(&[], &[]);
    }

    fn row(&mut self, matching: &[String], other: &[String]) {
        let _ = writeln!(
            self.rows,
            "Examples {{ matching: &{matching:?},\n counter_examples: &{other:?} }},"
        );
    }

    /// The table as Rust source.
    pub fn source(&self) -> String {
        format!("pub(crate) static {}: &[Examples] = &[\n{}];\n", self.name, self.rows)
    }
}

/// Writes all tables into `out`.
pub fn write(tables: &[String], out: &Path) -> Result<(), String> {
    std::fs::write(out.join("examples.rs"), tables.concat())
        .map_err(|e| format!("examples.rs: {e}"))
}
