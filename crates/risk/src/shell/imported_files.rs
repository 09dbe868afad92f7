//! Files that code imports: one that this call or an earlier one of its session wrote or downloaded
//! is assessed as if it were run.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::command_tables::CodeLanguage;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::limit::Limit;

/// Most names that one text may import.
const IMPORTS: Limit = Limit::new("imports", 256);

/// Words before the name of a file that is run.
const BEFORE_NAMES: [&str; 9] = [
    "__import__",
    "import_module",
    "run_module",
    "run_path",
    "require_relative",
    "require",
    "include",
    "import",
    "load",
];

impl Evaluator<'_, '_, '_, '_> {
    /// Assesses what a text imports.
    pub(super) fn run_imports(&mut self, language: CodeLanguage, text: &str, span: Span) {
        let knows_files = self.shared.ctx.session.is_some_and(|session| !session.is_empty());
        if !knows_files && !self.shared.has_written() {
            return;
        }
        let (names, endings) = imported(language, text);
        if let Err(excess) = IMPORTS.check(names.len()) {
            excess.report(self.shared.out, Some(span));
            return;
        }
        for name in names {
            let name = name.strip_prefix("./").unwrap_or(&name);
            for ending in endings {
                self.run_import(language, format!("{name}{ending}"), span);
            }
        }
    }

    fn run_import(&mut self, language: CodeLanguage, path: String, span: Span) {
        if let Some(content) = self.shared.known_file(&path) {
            if content.taint.has(Taint::NET) || content.taint.has(Taint::DECODED) {
                self.report_stream(&content, span);
            }
            return;
        }
        let is_known = self.shared.remembered(&path).is_some();
        if is_known {
            let text = Cow::Owned(path);
            let file = Arg { text, span, taint: Taint::default(), glob: false };
            self.run_remembered(Some(language), &[file], &Flow::none(), span);
        }
    }
}

/// The names that a text may import, relative to where it runs, and how their files end.
fn imported(language: CodeLanguage, text: &str) -> (Vec<String>, &'static [&'static str]) {
    let mut names = Vec::new();
    let statements = || text.split(['\n', ';']).map(str::trim);
    let endings: &[&str] = match language {
        CodeLanguage::Python => {
            names.extend(statements().flat_map(python_modules));
            &[".py", "/__init__.py", ""]
        }
        CodeLanguage::JavaScript => {
            // `import x from "./y.js"`
            let imports = statements().filter(|statement| statement.starts_with("import"));
            let from = imports.flat_map(|statement| statement.split("from").skip(1));
            names.extend(from.filter_map(quoted));
            &["", ".js", ".mjs", ".cjs", ".ts", "/index.js"]
        }
        CodeLanguage::Ruby => &["", ".rb"],
        CodeLanguage::Php | CodeLanguage::Perl => &[""],
        _ => return (names, &[]),
    };
    for word in BEFORE_NAMES {
        names.extend(text.split(word).skip(1).filter_map(quoted));
    }
    (names, endings)
}

/// The modules of `import a.b as c, d` and `from a import b`, as paths.
fn python_modules(statement: &str) -> Vec<String> {
    let as_path = |module: &str| module.trim().trim_start_matches('.').replace('.', "/");
    let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    if let Some(rest) = statement.strip_prefix("import ") {
        return rest.split(',').map(|module| as_path(&first(module))).collect();
    }
    let from = statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
    let Some((module, members)) = from else { return Vec::new() };
    let module = as_path(module);
    let members = members.split(',').map(|member| format!("{module}/{}", first(member)));
    members.chain([module.clone()]).collect()
}

/// The text in quotes with which the rest begins.
fn quoted(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([' ', '(']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = rest.get(1..)?;
    inside.split(quote).next().map(str::to_owned).filter(|name| !name.is_empty())
}
