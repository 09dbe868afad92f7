//! Folders that a call fetches from the network: a clone, or an archive that is unpacked. What the
//! call then runs from them is code from the internet.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::state::EvalState;
use crate::flow::{Flow, Taint};
use crate::name_lists::{
    CLONING_PROGRAMS, SEVEN_ZIP_PROGRAMS, TAR_PROGRAMS, TAR_UNPACK_OPTIONS, ZIP_LOOK_OPTIONS,
    ZIP_PROGRAMS,
};
use crate::paths::last_part;
use countersign_shell::UNKNOWN;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Remembers the folder that a command fetches. Container builds and CI jobs fetch what they
    /// build, and nothing of a person is in reach there.
    pub(super) fn fetched_folder(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow) {
        let Some(program) = inv.args.first().map(|arg| last_part(&arg.text)) else { return };
        if self.shared.ctx.environment.is_disposable() {
            return;
        }
        let folder = if CLONING_PROGRAMS.contains(&program) {
            cloned_folder(inv)
        } else if unpacks(program, inv) && self.comes_from_network(inv, stdin) {
            Some(unpacked_folder(inv))
        } else {
            None
        };
        if let Some(folder) = folder {
            self.shared.fetch_folder(&folder);
        }
    }

    /// Whether an archive, a file or standard input, was downloaded in this text or session.
    fn comes_from_network(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow) -> bool {
        let words = inv.args.iter().skip(1).map(|arg| arg.text.clone());
        let words: Vec<_> = words.filter(|word| !word.starts_with('-')).collect();
        stdin.present && stdin.taint.has(Taint::NET)
            || words.iter().any(|word| {
                let content = self.shared.file_content(word);
                content.is_some_and(|content| content.taint.has(Taint::NET))
            })
    }
}

impl EvalState<'_, '_> {
    fn fetch_folder(&mut self, folder: &str) {
        for name in self.names_of(folder) {
            self.files.hold_folder(name);
        }
        if self.ctx.session.is_some() && !self.rights.elsewhere {
            self.identities(folder).into_iter().for_each(|name| self.out.trace.fetches(name));
        }
    }
}

/// `git clone URL [FOLDER]`; none for a clone of a folder on this machine.
fn cloned_folder(inv: &Invocation<'_, '_>) -> Option<String> {
    let operands: Vec<&str> = (0..).map_while(|at| inv.operand(at)).collect();
    let clone = operands.iter().position(|word| *word == "clone" || *word == "git-clone")?;
    let behind = operands.get(clone + 1..)?;
    let at = behind.iter().position(|word| is_remote(word))?;
    let source = behind.get(at)?.trim_end_matches('/');
    let own = source.rsplit(['/', ':']).next().unwrap_or(source);
    let folder = behind.get(at + 1).copied().unwrap_or(own.trim_end_matches(".git"));
    Some(folder.to_owned())
}

/// Whether a word names a repository on another machine.
fn is_remote(word: &str) -> bool {
    let address = word.contains("://") && !word.starts_with("file:");
    address || word.contains(UNKNOWN) || word.split_once(':').is_some_and(|(h, _)| h.contains('@'))
}

/// Whether an archiver is told to unpack.
fn unpacks(program: &str, inv: &Invocation<'_, '_>) -> bool {
    let first = inv.args.get(1).map(|arg| arg.text.as_ref()).unwrap_or_default();
    if ZIP_PROGRAMS.contains(&program) {
        return !inv.has_one(ZIP_LOOK_OPTIONS);
    }
    if SEVEN_ZIP_PROGRAMS.contains(&program) {
        return matches!(first, "x" | "e");
    }
    let bundle = !first.starts_with('-') && first.contains('x');
    TAR_PROGRAMS.contains(&program) && (bundle || inv.has_one(TAR_UNPACK_OPTIONS))
}

/// Where an archive is unpacked to.
fn unpacked_folder(inv: &Invocation<'_, '_>) -> String {
    let mut words = inv.args.iter().map(|arg| arg.text.as_ref());
    let mut folder = ".";
    while let Some(word) = words.next() {
        folder = match word {
            "-C" | "-d" | "--directory" => words.next().unwrap_or(folder),
            _ => match word.strip_prefix("--directory=").or_else(|| word.strip_prefix("-o")) {
                Some(value) if !value.is_empty() => value,
                _ => folder,
            },
        };
    }
    folder.to_owned()
}
