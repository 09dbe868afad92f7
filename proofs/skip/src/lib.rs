//! Records that a test was skipped: libtest has no skip at run time and would count it as passed.
//!
//! [`skip`] writes a line to standard error and appends one to the file that `COUNTERSIGN_SKIP_LOG`
//! names. `./test` reads that file and counts the test as skipped.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;

/// The variable that names the file of skips.
pub const LOG: &str = "COUNTERSIGN_SKIP_LOG";

/// Why a test was skipped. Continuous integration accepts all but [`Cause::Tool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A tool is missing that `./test` installs. The whole test counts as skipped.
    Tool,
    /// This machine does not allow it, for example a mount without root. The whole test counts as
    /// skipped.
    Machine,
    /// One case of the test needs a tool that `./test` does not install. The other cases ran.
    Optional,
}

impl Cause {
    fn label(self) -> &'static str {
        match self {
            Cause::Tool => "tool",
            Cause::Machine => "machine",
            Cause::Optional => "optional",
        }
    }
}

/// Records that the running test is skipped, or one case of it. The caller returns afterwards.
///
/// # Panics
///
/// If the file that `COUNTERSIGN_SKIP_LOG` names cannot be written: a lost record would count as
/// a passed test.
pub fn skip(cause: Cause, reason: &str) {
    let line = record(cause, &test_name(), reason);
    // Written directly, because libtest captures `eprintln!` of tests that pass.
    let _ = writeln!(io::stderr(), "SKIPPED: {line}");
    if let Some(log) = env::var_os(LOG) {
        let written = append(Path::new(&log), &line);
        assert!(written.is_ok(), "cannot record a skipped test in {}: {written:?}", log.display());
    }
}

/// One line of the file: cause, test and reason, separated by tabs.
fn record(cause: Cause, test: &str, reason: &str) -> String {
    let reason = reason.replace(['\t', '\n'], " ");
    format!("{}\t{test}\t{reason}", cause.label())
}

/// Several tests append at once, so each line is a single write.
fn append(log: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(log)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// The test program and the test, which libtest gives its thread as a name. With one test thread
/// libtest runs all tests on the main thread, and the name is `main`.
fn test_name() -> String {
    let program = env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
    // Cargo appends a hash to the name of a test program.
    let program = program
        .as_deref()
        .map_or("?", |stem| stem.rsplit_once('-').map_or(stem, |(name, _hash)| name));
    format!("{program}::{}", thread::current().name().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_with_three_fields() {
        let line = record(Cause::Tool, "gate::order::x", "strace\tis\nmissing");
        assert_eq!(line, "tool\tgate::order::x\tstrace is missing");
    }

    #[test]
    fn records_are_appended() {
        let log = env::temp_dir().join(format!("skip-log-{}", std::process::id()));
        append(&log, "tool\ta\tb").unwrap();
        append(&log, "machine\tc\td").unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert_eq!(text, "tool\ta\tb\nmachine\tc\td\n");
    }

    #[test]
    fn the_running_test_is_named() {
        let name = test_name();
        assert!(name.starts_with("proof_skip::"), "{name}");
    }
}
