//! The examples of every rule, in tables of their own: the rules themselves do not refer to them,
//! so that a program which only assesses calls does not carry them.

use std::fmt::Write as _;
use std::path::Path;

/// How many examples, and how many counter-examples, each rule needs.
const MINIMUM: usize = 2;

/// The table of one set of rules, in the order of the rules.
pub struct Examples {
    name: String,
    rows: String,
}

impl Examples {
    /// An empty table with this name.
    pub fn new(name: &str) -> Examples {
        Examples { name: name.to_owned(), rows: String::new() }
    }

    /// Adds what the next rule must match and what it must not.
    pub fn add(&mut self, id: &str, matching: &[String], other: &[String]) -> Result<(), String> {
        if matching.len() < MINIMUM || other.len() < MINIMUM {
            return Err(format!(
                "rule `{id}` has {} examples and {} counter-examples; it needs {MINIMUM} of each",
                matching.len(),
                other.len()
            ));
        }
        no_duplicates(id, [matching, other])?;
        self.row(matching, other);
        Ok(())
    }

    /// Adds a rule that only adds effects or signs. Its examples must leave no finding of the rule,
    /// as counter-examples do.
    pub fn add_safe(&mut self, id: &str, safe: &[String]) -> Result<(), String> {
        if safe.len() < MINIMUM {
            let found = safe.len();
            return Err(format!("rule `{id}` has {found} safe examples; it needs {MINIMUM}"));
        }
        no_duplicates(id, [safe, &[]])?;
        self.row(&[], safe);
        Ok(())
    }

    /// Adds a rule that a test shows and no line can.
    pub fn none(&mut self) {
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

fn no_duplicates(id: &str, lists: [&[String]; 2]) -> Result<(), String> {
    let lines = || lists.into_iter().flatten();
    let twice = |line: &&String| lines().filter(|other| other == line).count() > 1;
    match lines().find(twice) {
        Some(line) => Err(format!("rule `{id}` has the example `{line}` twice")),
        None => Ok(()),
    }
}

/// Writes all tables into `out`.
pub fn write(tables: &[String], out: &Path) -> Result<(), String> {
    std::fs::write(out.join("examples.rs"), tables.concat())
        .map_err(|e| format!("examples.rs: {e}"))
}
