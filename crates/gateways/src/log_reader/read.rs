//! Reads log files record by record, within bounds.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_json::parse_within;
use rustix::fs::OFlags;

use super::find::LogFile;
use super::plain;
use crate::agents::{AGENTS, AgentDescriptor};
use crate::session_log::{LogRecords, LoggedCall, SessionLogFormat};

/// The longest record: a line, or a file that is one document. A longer one is skipped.
const MAX_RECORD: usize = 16 << 20;
/// How many calls of one file are read, and how many bytes of it.
const MAX_CALLS: usize = 200_000;
const MAX_FILE: u64 = 4 << 30;
/// How many ids are remembered to recognize copies.
const MAX_IDS: usize = 2_000_000;
/// How many records of a file are tried until its format is known.
const MAX_UNKNOWN: usize = 50;

/// The calls of one file.
#[derive(Debug, Default)]
pub struct LogCalls {
    /// The agent whose format it is; none for plain JSON Lines.
    pub agent: Option<&'static AgentDescriptor>,
    /// The calls in order, each once.
    pub calls: Vec<LoggedCall>,
    /// How many records, or calls in them, cannot be read.
    pub unreadable: u64,
    /// Whether there are more calls than were read.
    pub partial: bool,
}

/// Reads files one after the other. A call that an earlier file contained is left out: agents copy
/// the beginning of a session when it is resumed.
#[derive(Debug, Default)]
pub struct LogReader {
    seen: HashSet<Digest>,
    folders: HashMap<String, String>,
}

impl LogReader {
    /// The calls of a file.
    pub fn read(&mut self, file: &LogFile) -> io::Result<LogCalls> {
        let mut reading = Reading {
            agent: file.agent,
            is_plain: false,
            tried: 0,
            found: LogCalls::default(),
            records: LogRecords {
                folders: std::mem::take(&mut self.folders),
                ..LogRecords::default()
            },
        };
        let is_document = file.path.extension().is_some_and(|extension| extension == "json");
        let opened = open(&file.path, file.agent.is_some())?;
        let done = reading.read(opened, is_document);
        let Reading { agent, mut found, mut records, .. } = reading;
        self.folders = std::mem::take(&mut records.folders);
        done?;
        found.agent = agent;
        found.unreadable += records.unreadable;
        for call in records.calls {
            if self.is_new(&call) {
                found.calls.push(call);
            }
        }
        Ok(found)
    }

    /// Ids of some models are unique only in their session, so that the whole call is compared.
    fn is_new(&mut self, call: &LoggedCall) -> bool {
        let Some(id) = call.id.as_deref().filter(|_| self.seen.len() < MAX_IDS) else {
            return true;
        };
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        let text = format!("{id}\0{}\0{arguments}", call.tool);
        self.seen.insert(Digest::of(text.as_bytes()))
    }
}

struct Reading {
    agent: Option<&'static AgentDescriptor>,
    /// The file is in no agent's format.
    is_plain: bool,
    tried: usize,
    found: LogCalls,
    records: LogRecords,
}

impl Reading {
    fn read(&mut self, file: File, is_document: bool) -> io::Result<()> {
        let mut input = BufReader::with_capacity(256 * 1024, file.take(MAX_FILE));
        if is_document {
            let mut text = Vec::new();
            input.take(MAX_RECORD as u64 + 1).read_to_end(&mut text)?;
            self.record(&text);
            return Ok(());
        }
        let mut line = Vec::new();
        while next_line(&mut input, &mut line)? {
            if self.records.calls.len() >= MAX_CALLS {
                self.found.partial = true;
                return Ok(());
            }
            self.record(&line);
        }
        Ok(())
    }

    fn record(&mut self, bytes: &[u8]) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_RECORD)
        else {
            self.found.unreadable += 1;
            return;
        };
        let has_marker =
            |format: &SessionLogFormat| format.markers.iter().any(|m| text.contains(m));
        if self.agent.and_then(|agent| agent.session_log).is_some_and(|known| !has_marker(known)) {
            return;
        }
        let Ok(value) = parse_within(text, MAX_RECORD) else {
            self.found.unreadable += 1;
            return;
        };
        if self.agent.is_none() && !self.is_plain {
            let fits = |agent: &&AgentDescriptor| {
                agent.session_log.is_some_and(|format| (format.recognizes)(&value))
            };
            self.agent = AGENTS.into_iter().find(fits);
            self.tried += 1;
            // Records before the first that tells the format belong to nothing.
            self.is_plain =
                self.agent.is_none() && (self.tried >= MAX_UNKNOWN || plain::recognizes(&value));
        }
        match self.agent.and_then(|agent| agent.session_log) {
            Some(format) => (format.read)(&value, &mut self.records),
            None if self.is_plain => plain::read(&value, &mut self.records),
            None => {}
        }
    }
}

/// Reads the next line, without its end. A line that is too long is read as an invalid one.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut limited = input.by_ref().take(MAX_RECORD as u64 + 1);
    if limited.read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > MAX_RECORD {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Opens a file. In the folders of agents only a regular file that is no symlink: an agent may have
/// replaced it by a pipe since it was found.
fn open(path: &Path, only_regular: bool) -> io::Result<File> {
    let mut flags = OFlags::NOCTTY | OFlags::CLOEXEC;
    if only_regular {
        flags |= OFlags::NONBLOCK | OFlags::NOFOLLOW;
    }
    let flags = i32::try_from(flags.bits()).map_err(|_| io::ErrorKind::Unsupported)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if only_regular && !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
