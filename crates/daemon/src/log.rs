//! The log: text for people or JSON for programs, to standard error.

use tracing::Dispatch;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogConfig;

/// Starts logging. Returns false if a logger is set already.
pub fn start(log: &LogConfig) -> bool {
    tracing::dispatcher::set_global_default(to(log, std::io::stderr)).is_ok()
}

/// A logger that writes there.
pub fn to<W>(log: &LogConfig, writer: W) -> Dispatch
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // Finer levels apply to our own crates only: libraries may log what passes through them. (The
    // name is a prefix of all our crates.)
    let ours = format!("warn,countersign={}", log.level);
    let filter = EnvFilter::new(if log.level == "error" { "error".to_owned() } else { ours });
    let writing = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    if log.json {
        writing.json().with_ansi(false).finish().into()
    } else {
        writing.with_ansi(false).with_target(false).finish().into()
    }
}

#[cfg(test)]
mod tests;
