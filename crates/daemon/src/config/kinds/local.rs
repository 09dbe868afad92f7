//! `kind = "desktop"`, `"terminal"` and `"command"`: what stays on this machine.

use countersign_channels::{Settings, command, desktop};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    program: Option<Vec<String>>,
    timeout_seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Desktop {
    program: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Terminal {}

pub fn command(table: Table) -> KindResult<Settings> {
    let section: Command = read(table)?;
    let mut words = section.program.unwrap_or_default().into_iter();
    let program = words.next().ok_or("program is missing: a list such as [\"/bin/page\"]")?;
    absolute("program", &program)?;
    let timeout = timeout(section.timeout_seconds)?;
    Ok(Settings::Command(command::Settings { program, arguments: words.collect(), timeout }))
}

pub fn desktop(table: Table) -> KindResult<Settings> {
    let section: Desktop = read(table)?;
    let usual = desktop::Settings::default();
    if let Some(program) = &section.program {
        absolute("program", program)?;
    }
    let program = section.program.unwrap_or(usual.program);
    Ok(Settings::Desktop(desktop::Settings { program }))
}

pub fn terminal(table: Table) -> KindResult<Settings> {
    read::<Terminal>(table).map(|Terminal {}| Settings::Terminal)
}
