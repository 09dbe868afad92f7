//! The program that is written into an agent's files.

use std::env;
use std::fs;
use std::path::Path;

use countersign_gateways::install::{InstallScope, is_program};
use countersign_gateways::programs::small_program_beside;

use crate::failure::Failure;

/// The path of this program as it is written into files: the one on the PATH if that is the same
/// program, because it stays valid after an update.
pub fn program(scope: &InstallScope) -> Result<String, Failure> {
    let running = env::current_exe()?;
    let real = fs::canonicalize(&running).map_err(|_| {
        Failure::Input("this program was replaced while it was running; start it again".to_owned())
    })?;
    let on_path = scope.program(&["countersign"]);
    let lasting = on_path.filter(|path| fs::canonicalize(path).is_ok_and(|path| path == real));
    let path = lasting.unwrap_or(running);
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.filter(|text| {
        Path::new(text)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("countersign"))
    });
    text.map(str::to_owned).ok_or_else(|| {
        Failure::at(&path.display().to_string(), "this program must have the name `countersign`")
    })
}

/// The program that hooks start: the small one beside this program if it exists, because it is
/// started before each call.
pub fn hook_program(scope: &InstallScope) -> Result<String, Failure> {
    let program = program(scope)?;
    let small = small_program_beside(Path::new(&program));
    let small = small.to_str().filter(|_| is_program(&small)).map(str::to_owned);
    Ok(small.unwrap_or(program))
}
