//! The files that a call changes, where all of them are known exactly.
//!
//! Only such a call can be undone as a whole. Everything that cannot be read to the last word, such
//! as a variable, a pattern or a program that is not in the list here, has no such list.

use std::borrow::Cow;

use crate::assess::Assessment;
use crate::call::Call;
use crate::effect::{Effect, Effects};
use crate::name_lists::{EDIT_RULES, PRINTING_PROGRAMS, UNDO_MEMBERS};
use crate::tools;
use countersign_shell::posix::ast::{Join, Node, Part, Parts, Redirect, Simple, Stage, Word};
use countersign_shell::posix::parse;

/// One entry of `[[file_change]]`: a program whose operands name all files that it changes.
#[derive(Debug)]
struct FileChangeRule {
    programs: &'static [&'static str],
    /// Letters of options that do not change which files these are.
    options: &'static str,
    operands: ChangedOperands,
}

/// Which files the operands of a program name.
#[derive(Debug, Clone, Copy)]
enum ChangedOperands {
    /// Each is changed.
    Each,
    /// Each but the first.
    AllButFirst,
    /// Folders that are made.
    NewFolders,
    /// The last is replaced by the others, or gets them as files.
    IntoLast,
    /// The same, and the others are moved away.
    MoveIntoLast,
}

include!(concat!(env!("OUT_DIR"), "/file_changes.rs"));

/// A file or folder that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedFile {
    /// At this path.
    At(String),
    /// This folder, if it does not exist yet.
    NewFolder(String),
    /// At this path, or under this name in it if it is a folder.
    Into(String, String),
}

impl ChangedFile {
    /// The path that is changed, on a machine where these paths are folders. None if nothing is.
    pub fn place(&self, is_folder: impl Fn(&str) -> bool) -> Option<String> {
        match self {
            ChangedFile::NewFolder(path) => Some(path.clone()).filter(|path| !is_folder(path)),
            ChangedFile::Into(path, name) if is_folder(path) => {
                Some(format!("{}/{name}", path.trim_end_matches('/')))
            }
            ChangedFile::At(path) | ChangedFile::Into(path, _) => Some(path.clone()),
        }
    }
}

/// All files that a call changes, with absolute paths. None if they are not all known; an empty
/// list if it changes none.
pub fn file_changes(call: &Call<'_>, seen: &Assessment) -> Option<Vec<ChangedFile>> {
    let cwd = call.context.cwd.filter(|cwd| cwd.starts_with('/'))?;
    if !seen.doubts.is_empty() || call.tool.starts_with("mcp") {
        return None;
    }
    let Some((text, members)) = tools::command_text(&call.tool, &call.arguments) else {
        // A renaming diff names its old file in no list.
        let renames = call.arguments.to_json().contains("rename from ");
        return if renames { None } else { edited_files(seen, cwd) };
    };
    if !members.iter().all(|(name, _)| UNDO_MEMBERS.contains(&name.as_ref())) {
        return None;
    }
    let mut reading = Reading { folder: cwd.to_owned(), found: Vec::new() };
    reading.script(text)?;
    Some(reading.found)
}

/// The files of a tool that edits the files it names.
fn edited_files(seen: &Assessment, cwd: &str) -> Option<Vec<ChangedFile>> {
    const EDITS: Effects = Effects::of(&[Effect::Read, Effect::Write, Effect::Delete]);
    let is_edit = seen.reasons.iter().any(|reason| EDIT_RULES.contains(&reason.code.as_ref()));
    let (writes, deletes) = (&seen.impact.writes, &seen.impact.deletes);
    let all_listed = [writes, deletes].iter().all(|list| list.count as usize == list.listed.len());
    if !is_edit || !all_listed || !seen.effects.without(EDITS).is_empty() {
        return None;
    }
    let at = |path: &String| Some(ChangedFile::At(absolute(cwd, path)?));
    writes.listed.iter().chain(&deletes.listed).map(at).collect()
}

/// An absolute path. None for one that a shell or tool would expand.
fn absolute(folder: &str, path: &str) -> Option<String> {
    match path {
        "" => None,
        path if path.starts_with('~') => None,
        path if path.starts_with('/') => Some(path.to_owned()),
        path => Some(format!("{}/{path}", folder.trim_end_matches('/'))),
    }
}

struct Reading {
    folder: String,
    found: Vec<ChangedFile>,
}

impl Reading {
    fn script(&mut self, text: &str) -> Option<()> {
        let script = parse(text);
        if script.problem.is_some() {
            return None;
        }
        let mut moved = false;
        for pipeline in &script.list {
            // Behind `cd x;` the folder is only known if `cd` succeeded.
            if pipeline.background || moved && pipeline.join != Join::And {
                return None;
            }
            if let [stage] = pipeline.stages.as_slice()
                && let Some(folder) = entered(stage)
            {
                self.folder = absolute(&self.folder, &folder)?;
                moved = true;
                continue;
            }
            pipeline.stages.iter().try_for_each(|stage| self.stage(stage))?;
        }
        Some(())
    }

    fn stage(&mut self, stage: &Stage<'_>) -> Option<()> {
        let Node::Simple(simple) = &stage.node else { return None };
        for redirection in &stage.redirections {
            match &redirection.kind {
                Redirect::Read(word) | Redirect::Text(word) | Redirect::Here(word) => {
                    literal(word)?;
                }
                Redirect::Write(word) | Redirect::Append(word) | Redirect::Both(word) => {
                    let path = literal(word)?;
                    if path != "/dev/null" {
                        self.at(&path)?;
                    }
                }
                Redirect::Duplicate(word) => {
                    let number = literal(word)?;
                    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
                }
            }
        }
        self.command(simple)
    }

    fn command(&mut self, simple: &Simple<'_>) -> Option<()> {
        if !simple.assignments.is_empty() {
            return None;
        }
        let words: Vec<Cow<'_, str>> = simple.words.iter().map(literal).collect::<Option<_>>()?;
        let Some((name, words)) = words.split_first() else { return Some(()) };
        if PRINTING_PROGRAMS.contains(&name.as_ref()) {
            return Some(());
        }
        let rule = FILE_CHANGE_RULES.iter().find(|rule| rule.programs.contains(&name.as_ref()))?;
        let operands = operands(words, rule.options)?;
        match (rule.operands, operands.as_slice()) {
            (ChangedOperands::Each, list) | (ChangedOperands::AllButFirst, [_, list @ ..]) => {
                self.each(list)
            }
            (ChangedOperands::NewFolders, list) => list.iter().try_for_each(|path| {
                self.found.push(ChangedFile::NewFolder(absolute(&self.folder, path)?));
                Some(())
            }),
            (ChangedOperands::IntoLast, [sources @ .., target]) if !sources.is_empty() => {
                sources.iter().try_for_each(|source| self.into(target, source))
            }
            (ChangedOperands::MoveIntoLast, [sources @ .., target]) if !sources.is_empty() => {
                self.each(sources)?;
                sources.iter().try_for_each(|source| self.into(target, source))
            }
            _ => None,
        }
    }

    fn each(&mut self, paths: &[&str]) -> Option<()> {
        paths.iter().try_for_each(|path| self.at(path))
    }

    fn at(&mut self, path: &str) -> Option<()> {
        self.found.push(ChangedFile::At(absolute(&self.folder, path)?));
        Some(())
    }

    fn into(&mut self, target: &str, source: &str) -> Option<()> {
        let name = source.trim_end_matches('/').rsplit('/').next()?;
        if matches!(name, "" | "." | "..") {
            return None;
        }
        self.found.push(ChangedFile::Into(absolute(&self.folder, target)?, name.to_owned()));
        Some(())
    }
}

/// The folder of a plain `cd FOLDER`.
fn entered(stage: &Stage<'_>) -> Option<String> {
    let Node::Simple(Simple { assignments, words }) = &stage.node else { return None };
    let [name, folder] = words.as_slice() else { return None };
    let is_plain = assignments.is_empty() && stage.redirections.is_empty();
    let folder = literal(folder).filter(|folder| !folder.starts_with('-'))?;
    (is_plain && literal(name)? == "cd").then(|| folder.into_owned())
}

/// The words that are no options. None if there is an option beside `known`.
fn operands<'w>(words: &'w [Cow<'_, str>], known: &str) -> Option<Vec<&'w str>> {
    let mut operands = Vec::new();
    let mut options_end = false;
    for word in words {
        match word.strip_prefix('-') {
            Some("-") if !options_end => options_end = true,
            Some(letters) if !options_end && !letters.is_empty() => {
                letters.chars().all(|letter| known.contains(letter)).then_some(())?;
            }
            _ => operands.push(word.as_ref()),
        }
    }
    Some(operands)
}

/// The text of a word that a shell takes as it is.
fn literal<'a>(word: &Word<'a>) -> Option<Cow<'a, str>> {
    let is_literal = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '~', '!']);
    match &word.parts {
        Parts::Plain(text) => is_literal(text).then_some(Cow::Borrowed(*text)),
        Parts::Many(parts) => {
            let mut all = String::new();
            for part in parts {
                match part {
                    Part::Bare(text) if is_literal(text) => all.push_str(text),
                    Part::Quoted(text) => all.push_str(text),
                    _ => return None,
                }
            }
            Some(Cow::Owned(all))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::verdict::Policy;
    use countersign_json as json;

    fn changes(call: &str) -> Option<Vec<ChangedFile>> {
        let value = json::parse(call).unwrap();
        let mut call = Call::from_json(&value).unwrap();
        call.context.cwd = Some("/p");
        call.context.project = Some("/p");
        call.context.host = Some("claude-code");
        file_changes(&call, &assess(&call, &Policy::default()))
    }

    fn command(text: &str) -> Option<Vec<ChangedFile>> {
        let text = json::Value::String(text.into()).to_json();
        changes(&format!(r#"{{"tool":"Bash","arguments":{{"command":{text}}}}}"#))
    }

    fn at(path: &str) -> ChangedFile {
        ChangedFile::At(path.to_owned())
    }

    #[test]
    fn plain_commands_name_all_their_files() {
        assert_eq!(command("rm -rf a 'b c'"), Some(vec![at("/p/a"), at("/p/b c")]));
        assert_eq!(command("cd src && rm /x/a b"), Some(vec![at("/x/a"), at("/p/src/b")]));
        assert_eq!(command("echo hi >> a 2>&1 2>/dev/null"), Some(vec![at("/p/a")]));
        assert_eq!(command("cat <<'E' > a\n$(x)\nE"), Some(vec![at("/p/a")]));
        let into = ChangedFile::Into("/p/d".to_owned(), "a".to_owned());
        assert_eq!(command("mv x/a d"), Some(vec![at("/p/x/a"), into.clone()]));
        assert_eq!(command("cp x/a d"), Some(vec![into]));
        assert_eq!(command("chmod 600 a"), Some(vec![at("/p/a")]));
        let folder = ChangedFile::NewFolder("/p/a/b".to_owned());
        assert_eq!(command("mkdir -p a/b"), Some(vec![folder]));
        assert_eq!(command("echo hi"), Some(vec![]));
    }

    #[test]
    fn every_rule_changes_the_files_of_its_example() {
        assert_eq!(FILE_CHANGE_EXAMPLES.len(), FILE_CHANGE_RULES.len());
        for (text, expected) in FILE_CHANGE_EXAMPLES {
            let changed = command(text).unwrap_or_default();
            let paths: Vec<String> =
                changed.iter().filter_map(|file| file.place(|_| false)).collect();
            assert_eq!(paths, *expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_to_the_last_word_has_no_list() {
        for text in [
            "rm *.txt",
            "rm $x",
            "rm ~/a",
            "rm a{b,c}",
            "rm $(cat list)",
            "cat <<E > a\n$(rm b)\nE",
            "rm a && git init",
            "cd x; rm a",
            "cd x && rm a; rm b",
            "cd - && rm a",
            "rm a &",
            "cp -r a b",
            "cp -t d a",
            "mv --target-directory=d a",
            "ln -s a",
            "cp a/.. b",
            "chmod -x a",
            "make",
            "sed -i s/a/b/w c",
            "find . -delete",
            "PATH=. rm a",
            "f() { rm b; }; f a",
            "if true; then rm a; fi",
            "rm a >&x",
            "tee >(sh)",
            "rm 'unterminated",
        ] {
            assert_eq!(command(text), None, "{text}");
        }
    }

    #[test]
    fn tools_that_edit_files_name_them() {
        let write = r#"{"tool":"Write","arguments":{"file_path":"/p/a.txt","content":"x"}}"#;
        assert_eq!(changes(write), Some(vec![at("/p/a.txt")]));
        let edited = r#"{"file_path":"a.txt","old_string":"a","new_string":"b"}"#;
        let edit = format!(r#"{{"tool":"Edit","arguments":{edited}}}"#);
        assert_eq!(changes(&edit), Some(vec![at("/p/a.txt")]));
        for other in [
            r#"{"tool":"Write","arguments":{"file_path":"~/a.txt","content":"x"}}"#,
            r#"{"tool":"mcp__files__write_file","arguments":{"path":"/p/a","content":"x"}}"#,
            r#"{"tool":"send_email","arguments":{"to":"bo","text":"x"}}"#,
            r#"{"tool":"make_changes","arguments":{"path":"/p/a"}}"#,
            r#"{"tool":"Bash","arguments":{"command":"rm a","cwd":"/other"}}"#,
        ] {
            assert_eq!(changes(other), None, "{other}");
        }
    }
}
