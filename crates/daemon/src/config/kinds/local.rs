//! `kind = "desktop"`, `"terminal"` and `"command"`: what stays on this machine.

use countersign_channels::{ChannelSettings, command, desktop};
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

pub fn command(table: Table) -> KindResult<ChannelSettings> {
    let section: Command = read(table)?;
    let mut words = section.program.unwrap_or_default().into_iter();
    let program = words.next().ok_or("program is missing: a list such as [\"/bin/page\"]")?;
    absolute("program", &program)?;
    let timeout = timeout(section.timeout_seconds)?;
    Ok(ChannelSettings::Command(command::CommandSettings {
        program,
        arguments: words.collect(),
        timeout,
    }))
}

pub fn desktop(table: Table) -> KindResult<ChannelSettings> {
    let section: Desktop = read(table)?;
    let usual = desktop::DesktopSettings::default();
    if let Some(program) = &section.program {
        absolute("program", program)?;
    }
    let program = section.program.unwrap_or(usual.program);
    Ok(ChannelSettings::Desktop(desktop::DesktopSettings { program }))
}

pub fn terminal(table: Table) -> KindResult<ChannelSettings> {
    read::<Terminal>(table).map(|Terminal {}| ChannelSettings::Terminal)
}
