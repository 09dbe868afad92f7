//! Where a call would run, as arguments of several commands.

use clap::Args;

use crate::engine::{Environment, Platform};

/// Where a call would run.
#[derive(Args, Clone, Default)]
pub struct CallContext {
    /// The platform of the agent's user: cli, api, telegram or discord; others count as api.
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,
    /// The working directory.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// The root folder of the project.
    #[arg(long, value_name = "DIR")]
    pub project: Option<String>,
    /// The agent program that runs the tool.
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// The environment: workstation, production, ci or container.
    #[arg(long, value_name = "KIND", value_parser = parse_environment)]
    pub env: Option<Environment>,
}

impl CallContext {
    /// The platform, if one was named.
    pub fn platform(&self) -> Option<Platform> {
        self.platform.as_deref().map(Platform::parse)
    }
}

/// The environment of this name.
pub fn parse_environment(text: &str) -> Result<Environment, String> {
    Environment::parse(text)
        .ok_or_else(|| "use workstation, production, ci or container".to_owned())
}
