//! The lists of the tables: each kind has one table, and a list is a place in it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::source::put;

/// A kind of list: its table, the type of its values, and whether the patterns' file holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    table: &'static str,
    of: &'static str,
    about_patterns: bool,
}

const fn kind(table: &'static str, of: &'static str) -> Kind {
    Kind { table, of, about_patterns: false }
}

const fn pattern_kind(table: &'static str, of: &'static str) -> Kind {
    Kind { table, of, about_patterns: true }
}

pub const WORDS: Kind = kind("WORDS", "&'static str");
pub const FLAGS: Kind = kind("FLAGS", "Flag");
pub const FLAG_CHOICES: Kind = kind("FLAG_CHOICES", "StaticList<Flag>");
pub const TOUCHES: Kind = kind("TOUCHES", "ArgumentUse");
pub const NAMED_TOUCHES: Kind = kind("NAMED_TOUCHES", "(&'static str, ArgumentUse)");
pub const EFFECTS: Kind = kind("EFFECTS", "Effect");
pub const OPTION_GLOBS: Kind = kind("OPTION_GLOBS", "(StaticList<&'static str>, Globs)");
pub const RULE_REFS: Kind = kind("RULE_REFS", "&'static Rule");
pub const RUNNER_REFS: Kind = kind("RUNNER_REFS", "&'static Runner");
pub const GLOBS: Kind = pattern_kind("GLOBS", "Glob");
pub const GLOB_PATHS: Kind = pattern_kind("GLOB_PATHS", "StaticList<Glob>");
pub const GLOB_RUNS: Kind = pattern_kind("GLOB_RUNS", "(u64, StaticList<Glob>)");
/// Not a list, but single sets that rules refer to by number.
const GLOB_SETS: Kind = pattern_kind("GLOB_SETS", "Globs");

/// The values of one kind, and where each list starts.
#[derive(Default)]
struct Table {
    values: Vec<String>,
    places: BTreeMap<Vec<String>, usize>,
}

impl Table {
    fn place_of(&mut self, values: Vec<String>) -> usize {
        let end = self.values.len();
        *self.places.entry(values).or_insert_with_key(|values| {
            self.values.extend(values.iter().cloned());
            end
        })
    }
}

thread_local! {
    static TABLES: RefCell<BTreeMap<Kind, Table>> = RefCell::default();
}

/// The source of a list; equal lists are stored once.
pub fn static_list(kind: Kind, values: Vec<String>) -> String {
    let len = values.len();
    if len == 0 {
        return "StaticList::NONE".to_owned();
    }
    let at = TABLES.with_borrow_mut(|tables| tables.entry(kind).or_default().place_of(values));
    format!("StaticList::new({at}, {len})")
}

/// The source of a reference to a set of patterns; 0 is the empty set.
pub fn glob_set(globs: Option<String>) -> String {
    let at = TABLES.with_borrow_mut(|tables| {
        let table = tables.entry(GLOB_SETS).or_default();
        table.place_of(vec!["Globs::NONE".to_owned()]);
        globs.map_or(0, |globs| table.place_of(vec![globs]))
    });
    format!("GlobsRef::new({at})")
}

/// The tables of all lists so far, for the file of the patterns or for that of the commands.
pub fn tables(about_patterns: bool) -> Result<String, String> {
    TABLES.with_borrow(|tables| {
        let mut s = String::new();
        for (kind, table) in tables.iter().filter(|(kind, _)| kind.about_patterns == about_patterns)
        {
            let (name, of, count) = (kind.table, kind.of, table.values.len());
            u16::try_from(count).map_err(|_| format!("too many values in {name}"))?;
            let values = table.values.join(", ");
            let elided = of.replace("'static ", "");
            put(&mut s, format!("static {name}: [{elided}; {count}] = [{values}];\n"));
            if *kind != GLOB_SETS {
                let table = format!("fn table() -> &'static [Self] {{ &{name} }}");
                put(&mut s, format!("impl TableValue for {of} {{ {table} }}\n"));
            }
        }
        Ok(s)
    })
}
