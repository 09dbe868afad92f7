//! The two programs: `countersign`, which can ask people, and the small `countersign-hook`.

use std::path::{Path, PathBuf};
use std::{env, io};

const ASKING: &str = "countersign";
const SMALL: &str = "countersign-hook";

/// The program that can ask people: this one, or the one next to it.
pub fn asking_program() -> io::Result<PathBuf> {
    env::current_exe().map(|this| asking_program_beside(&this))
}

/// The program that can ask people: the given one, or the one next to it if it is the small one.
pub fn asking_program_beside(program: &Path) -> PathBuf {
    // Linux adds a word to the name of a program that was replaced while it runs.
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_small = name.split(' ').next() == Some(SMALL);
    if is_small { program.with_file_name(ASKING) } else { program.to_owned() }
}

/// Where the small program would be, next to the large one.
pub fn small_program_beside(asking: &Path) -> PathBuf {
    asking.with_file_name(SMALL)
}
