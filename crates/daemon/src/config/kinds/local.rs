//! `kind = "desktop"`, `"terminal"` and `"command"`: what stays on this machine.

use countersign_channels::{ChannelSettings, command, desktop};
use serde::Deserialize;
use toml::Table;

use super::{Meant, absolute, read, timeout};

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

pub fn command(table: Table) -> Meant<ChannelSettings> {
    let written: Command = read(table)?;
    let mut words = written.program.unwrap_or_default().into_iter();
    let program = words.next().ok_or("program is missing: a list such as [\"/bin/page\"]")?;
    absolute("program", &program)?;
    let timeout = timeout(written.timeout_seconds)?;
    Ok(ChannelSettings::Command(command::CommandSettings {
        program,
        arguments: words.collect(),
        timeout,
    }))
}

pub fn desktop(table: Table) -> Meant<ChannelSettings> {
    let written: Desktop = read(table)?;
    let usual = desktop::DesktopSettings::default();
    if let Some(program) = &written.program {
        absolute("program", program)?;
    }
    let program = written.program.unwrap_or(usual.program);
    Ok(ChannelSettings::Desktop(desktop::DesktopSettings { program }))
}

pub fn terminal(table: Table) -> Meant<ChannelSettings> {
    read::<Terminal>(table).map(|Terminal {}| ChannelSettings::Terminal)
}
