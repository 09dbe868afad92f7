//! Which file of a crate uses which: by `use`, and by paths in the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::{product, read, shown};
use crate::source::{code, without_tests};

type Module = Vec<String>;

/// The modules of one crate.
#[derive(Default)]
struct Crate {
    /// Each module's file and code.
    modules: BTreeMap<Module, (String, String)>,
    /// Names that a module only passes on, and where they come from.
    passed_on: BTreeMap<(Module, String), Module>,
}

/// The edges between the files of each crate, from the file that uses to the file that is used.
pub fn edges() -> BTreeSet<(String, String)> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for path in product() {
        let file = shown(&path);
        let Some((name, inside)) = file.split_once("/src/") else { continue };
        if inside.starts_with("bin/") || inside == "main.rs" {
            continue;
        }
        let text = code(without_tests(&read(&path)));
        let one = crates.entry(name.to_owned()).or_default();
        one.modules.insert(module(inside), (file.clone(), text));
    }
    let mut edges = BTreeSet::new();
    for one in crates.values_mut() {
        one.find_passed_on();
        one.add_edges(&mut edges);
    }
    edges
}

/// The module that a file below `src` is.
fn module(inside: &str) -> Module {
    let path = Path::new(inside).with_extension("");
    let mut parts: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

impl Crate {
    fn find_passed_on(&mut self) {
        for (module, (_, text)) in &self.modules {
            for used in uses(text).iter().filter(|used| used.public) {
                let Some(path) = self.absolute(module, &used.path) else { continue };
                self.passed_on.insert((module.clone(), used.name.clone()), path);
            }
        }
    }

    /// A path from the crate's root, if it is one of this crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let mut base = module.to_vec();
        let mut rest = rest.to_vec();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop()?;
                while rest.first().is_some_and(|next| next == "super") {
                    base.pop()?;
                    rest.remove(0);
                }
            }
            name => {
                base.push(name.to_owned());
                if !self.modules.contains_key(&base) {
                    return None;
                }
            }
        }
        base.extend(rest);
        Some(base)
    }

    /// The file where a path ends up; names that are passed on are followed.
    fn file(&self, path: &[String], steps: usize) -> Option<&String> {
        let mut module = Module::new();
        let mut rest = path;
        while let Some((next, after)) = rest.split_first() {
            let mut inner = module.clone();
            inner.push(next.clone());
            if !self.modules.contains_key(&inner) {
                break;
            }
            (module, rest) = (inner, after);
        }
        if let (Some(name), true) = (rest.first(), steps < 8)
            && let Some(target) = self.passed_on.get(&(module.clone(), name.clone()))
        {
            return self.file(target, steps + 1);
        }
        self.modules.get(&module).map(|(file, _)| file)
    }

    fn add_edges(&self, edges: &mut BTreeSet<(String, String)>) {
        for (module, (file, text)) in &self.modules {
            let mut paths: Vec<Vec<String>> = Vec::new();
            paths.extend(uses(text).into_iter().filter(|used| !used.public).map(|used| used.path));
            paths.extend(inline(&without_uses(text)));
            let used = paths.iter().filter_map(|path| self.absolute(module, path));
            for target in used.filter_map(|path| self.file(&path, 0)).filter(|to| *to != file) {
                edges.insert((file.clone(), target.clone()));
            }
        }
    }
}

/// One name that a `use` brings.
#[derive(Debug, PartialEq)]
struct Used {
    path: Vec<String>,
    name: String,
    public: bool,
}

/// The names of all `use` declarations.
fn uses(code: &str) -> Vec<Used> {
    let mut found = Vec::new();
    for statement in code.split_inclusive(';').filter_map(|text| text.strip_suffix(';')) {
        let Some((at, public)) = declaration(statement) else { continue };
        let tree = statement.get(at..).unwrap().trim_start_matches("use ");
        flatten(tree, &[], public, &mut found);
    }
    found
}

/// Where in a statement a `use` declaration starts, and whether it is public.
fn declaration(statement: &str) -> Option<(usize, bool)> {
    // What stands before the declaration in the same piece ends with a brace or a bracket.
    let at = statement.rfind("use ")?;
    let line = statement.get(..at)?.rsplit(['\n', '}', ']']).next().unwrap_or_default().trim();
    (line.is_empty() || line.starts_with("pub")).then(|| (at, line.starts_with("pub")))
}

/// The code without its `use` declarations: a name that is only passed on is not used.
fn without_uses(code: &str) -> String {
    let kept = |statement: &str| {
        let at = declaration(statement).map_or(statement.len(), |(at, _)| at);
        statement.get(..at).unwrap().to_owned()
    };
    code.split_inclusive(';').map(kept).collect()
}

/// A tree such as `a::{b, c::d as e}`, path by path.
fn flatten(tree: &str, prefix: &[String], public: bool, found: &mut Vec<Used>) {
    let tree = tree.trim();
    // Behind a trailing comma.
    if tree.is_empty() {
        return;
    }
    if let Some((head, inside)) = tree.split_once('{') {
        let mut prefix = prefix.to_vec();
        prefix.extend(head.split("::").map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()));
        let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
        let (mut depth, mut start) = (0_usize, 0);
        for (at, c) in inside.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    flatten(inside.get(start..at).unwrap(), &prefix, public, found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        return flatten(inside.get(start..).unwrap(), &prefix, public, found);
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(p, a)| (p, Some(a.trim())));
    let mut parts = prefix.to_vec();
    parts.extend(path.split("::").map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()));
    if parts.last().is_some_and(|last| last == "self" || last == "*") && parts.len() > 1 {
        parts.pop();
    }
    let Some(last) = parts.last().cloned() else { return };
    found.push(Used { path: parts, name: alias.map_or(last, str::to_owned), public });
}

/// Paths in the code, such as `crate::a::B` or `child::f`.
fn inline(code: &str) -> Vec<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let words = code.split(|c: char| !is_name(c) && c != ':').filter(|word| !word.is_empty());
    let mut found = Vec::new();
    let mut before = ["", ""];
    for word in words {
        let parts: Vec<String> = word.split("::").map(str::to_owned).collect();
        let is_path =
            parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && !part.contains(':'));
        // `pub(in crate::a)` says who may use something; it uses nothing.
        if is_path && before != ["pub", "in"] {
            found.push(parts);
        }
        before = [before[1], word];
    }
    found
}

#[test]
fn declarations_are_read() {
    let text = "pub use a::B;\nuse crate::{c::{self, D as E}, f};\nfn use_it() { g::h(); }";
    let found: Vec<(String, String, bool)> =
        uses(text).into_iter().map(|u| (u.path.join("::"), u.name, u.public)).collect();
    let one = |path: &str, name: &str, public| (path.to_owned(), name.to_owned(), public);
    assert_eq!(
        found,
        [
            one("a::B", "B", true),
            one("crate::c", "c", false),
            one("crate::c::D", "E", false),
            one("crate::f", "f", false),
        ]
    );
    assert_eq!(inline(&without_uses(text)), [["g".to_owned(), "h".to_owned()]]);
    assert!(inline("pub(in crate::a) fn b() {}").is_empty());
    assert_eq!(module("shell/mod.rs"), ["shell"]);
    assert_eq!(module("shell/walk.rs"), ["shell", "walk"]);
}
