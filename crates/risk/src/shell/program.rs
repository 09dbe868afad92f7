//! Which program a word names, and what its folder says about it.

use crate::command_tables as tables;
pub(super) use crate::command_tables::Known;
use crate::name_lists::{
    BUILD_FILES, CROSS_MACHINES, CROSS_TOOLS, EXAMPLE_PROGRAMS, PROGRAM_FOLDERS,
};
use crate::paths::{class_of, last_part};

/// The description of a program by the word that names it.
pub(super) fn resolve(word: &str) -> Option<Known> {
    let name = last_part(word);
    // The shell's own words are not files.
    // (`/usr/bin/time` is one: it runs what follows like the word does.)
    if word.len() > name.len()
        && matches!(name, "command" | "builtin" | "exec" | "eval" | "time")
        && !(is_standard_place(word) && matches!(name, "command" | "time"))
    {
        return None;
    }
    if let Some(known) = tables::spec(name) {
        return Some(known);
    }
    // `python3.11`, `gcc-12`, `Rscript.exe`, `BASH` on file systems that fold case.
    let folded = name.to_ascii_lowercase();
    let folded = folded.strip_suffix(".exe").unwrap_or(&folded);
    if let Some(known) = tables::spec(folded) {
        return Some(known);
    }
    // `prettier@3`, as package runners write it.
    if let Some((package, _)) = folded.split_once('@').filter(|(package, _)| !package.is_empty()) {
        return tables::spec(package);
    }
    if let Some(tool) = cross_tool(folded) {
        return tables::spec(tool);
    }
    let bare =
        folded.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    if bare.len() < 2 || bare.len() == folded.len() || is_example_program(name) {
        return None;
    }
    tables::spec(bare)
}

/// The tool of a cross compiler: `aarch64-linux-gnu-gcc-12` is `gcc`.
fn cross_tool(name: &str) -> Option<&'static str> {
    let (machine, _) = name.split_once('-')?;
    CROSS_MACHINES.binary_search(&machine).ok()?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = name.trim_end_matches('-');
    let named = |tool: &&&str| name.strip_suffix(**tool).is_some_and(|p| p.ends_with('-'));
    CROSS_TOOLS.iter().find(named).copied()
}

/// Names that documentation uses where a reader puts a program of their own: `cmd1`.
pub(super) fn is_example_program(name: &str) -> bool {
    EXAMPLE_PROGRAMS.binary_search(&name).is_ok()
}

/// Files that tell a build or package tool what to run.
pub(super) fn is_build_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| BUILD_FILES.contains(&name))
}

/// `/tmp/x`, `/dev/shm/x`, `~/.hidden/x`, `./.x`: no place for a program.
pub(super) fn is_odd_place(path: &str) -> bool {
    let class = class_of(path, None);
    let hidden =
        path.rsplit('/').next().is_some_and(|n| n.starts_with('.') && n.len() > 2 && n != "..");
    class.id == "temporary" || path.starts_with("/var/tmp") || hidden
}

/// Folders in which a program is what its name says.
pub(super) fn is_standard_place(path: &str) -> bool {
    PROGRAM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}
