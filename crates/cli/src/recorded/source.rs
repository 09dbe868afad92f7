//! The calls in log files, each with its session and project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use countersign_client::{git_root, home_folder};
use countersign_gateways::agents::AgentDescriptor;
use countersign_gateways::install::InstallScope;
use countersign_gateways::log_reader::{FoundLogs, LogFile, LogReader, find_logs};
use countersign_gateways::session_log::LoggedCall;

use crate::engine::{self, Call, Context};
use crate::failure::Failure;
use crate::gate::now::now;

/// How many calls are read in all.
const MAX_CALLS: u64 = 2_000_000;

/// How far back the agents' own folders are read, in days.
pub const DEFAULT_DAYS: u32 = 30;

/// A call of a log.
pub struct PlacedCall<'a> {
    /// The call with its session and its context.
    pub call: Call<'a>,
    /// The text of its arguments.
    pub raw: &'a str,
    /// The session.
    pub session: &'a str,
    /// The agent, for people.
    pub source: &'a str,
    /// The user rejected it.
    pub rejected: bool,
}

/// Reads log files one after the other.
#[derive(Default)]
pub struct CallSource {
    reader: LogReader,
    /// The projects of the sessions.
    projects: HashMap<String, String>,
    calls: u64,
    /// Records that cannot be read.
    pub unreadable: u64,
    /// Files that cannot be read.
    pub unreadable_files: u64,
    /// There is more than was read.
    pub partial: bool,
}

/// The files that the user named, or the logs in the agents' own folders. Files that changed
/// within so many days, if given.
pub fn find(named: &[PathBuf], days: Option<u32>) -> Result<FoundLogs, Failure> {
    let scope = InstallScope::new(None, |name| std::env::var(name).ok())
        .map_err(|error| Failure::Input(error.to_string()))?;
    let span = days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
    let since = span.and_then(|span| now_time().checked_sub(span));
    Ok(find_logs(named, &scope, since)?)
}

fn now_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now().millis()).unwrap_or(0))
}

impl CallSource {
    /// Hands every call of the files to `each`, in order.
    pub fn read(
        &mut self,
        found: &FoundLogs,
        mut each: impl FnMut(&PlacedCall<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.partial |= found.partial;
        for file in &found.files {
            self.file(file, &mut each)?;
            if self.calls >= MAX_CALLS {
                self.partial = true;
                break;
            }
        }
        Ok(())
    }

    /// A file that cannot be read is counted, unless the user named it.
    fn file(
        &mut self,
        file: &LogFile,
        each: &mut impl FnMut(&PlacedCall<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let read = match self.reader.read(file) {
            Ok(read) => read,
            Err(error) if file.agent.is_none() => {
                return Err(Failure::at(&file.path.display().to_string(), error));
            }
            Err(_) => {
                self.unreadable_files += 1;
                return Ok(());
            }
        };
        self.unreadable += read.unreadable;
        self.partial |= read.partial;
        for logged in &read.calls {
            self.calls += 1;
            self.place(logged, read.agent, &file.path, each)?;
        }
        Ok(())
    }

    fn place(
        &mut self,
        logged: &LoggedCall,
        agent: Option<&'static AgentDescriptor>,
        path: &Path,
        each: &mut impl FnMut(&PlacedCall<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let session = logged.session.clone().unwrap_or_else(|| path.display().to_string());
        let project =
            logged.project.clone().or_else(|| self.project(&session, logged.cwd.as_deref()));
        let raw = serde_json::to_string(&logged.arguments)?;
        let call = Call {
            session: Some(session.as_str().into()),
            context: Context {
                cwd: logged.cwd.as_deref(),
                project: project.as_deref(),
                host: agent.map(|agent| agent.host).or(logged.host.as_deref()),
                ..Context::default()
            },
            ..engine::tool_call(&logged.tool, logged.arguments.reborrow())
        };
        let source = agent.map(|agent| agent.title).or(logged.host.as_deref());
        each(&PlacedCall {
            call,
            raw: &raw,
            session: &session,
            source: source.unwrap_or("plain JSON Lines"),
            rejected: logged.rejected,
        })
    }

    /// The repository of the session's first working directory, or else that directory.
    fn project(&mut self, session: &str, cwd: Option<&str>) -> Option<String> {
        if let Some(known) = self.projects.get(session) {
            return Some(known.clone());
        }
        let cwd = cwd?;
        let root = git_root(Path::new(cwd), home_folder().as_deref());
        let root = root.and_then(|root| root.into_os_string().into_string().ok());
        let project = root.unwrap_or_else(|| cwd.to_owned());
        self.projects.insert(session.to_owned(), project.clone());
        Some(project)
    }
}
