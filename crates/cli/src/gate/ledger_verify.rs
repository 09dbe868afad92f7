//! `countersign ledger verify`: entries, checkpoints and passkey signatures.

use std::io::Write;
use std::process::ExitCode;

use countersign_client::LedgerRows;
use countersign_client::verify::signed_checkpoint;
use countersign_daemon::passkeys::LedgerSignatureCheck;
use countersign_ledger::checkpoint::Checkpoint;
use countersign_ledger::entry::Entry;
use countersign_ledger::verify::{Verifier, VerifyError};

use super::ledger_read::EntrySource;
use super::{output, page};
use crate::engine::thousands;
use crate::failure::Failure;
use crate::input::{self, Files};

/// A key as given: the text itself, or a file that contains it.
pub fn key_text(given: &str) -> Result<String, Failure> {
    let in_file = !given.contains('+');
    let text = if in_file {
        input::text(&format!("@{given}"), "--key", Files::Named)?
    } else {
        given.to_owned()
    };
    Ok(text.trim().to_owned())
}

/// The given checkpoints and the ledger's own, or why one of them is invalid.
fn checkpoints(
    source: &mut EntrySource,
    kept: &[String],
    key: &str,
) -> Result<Result<Vec<Checkpoint>, String>, Failure> {
    let mut checkpoints = Vec::new();
    for name in kept {
        let note = input::text(&format!("@{name}"), "--checkpoint", Files::Named)?;
        match signed_checkpoint(&note, key) {
            Ok(checkpoint) => checkpoints.push(checkpoint),
            Err(why) => return Ok(Err(format!("{}: {why}", page::safe(name, 400)))),
        }
    }
    match own_checkpoint(source, key)? {
        Some(Ok(checkpoint)) => checkpoints.push(checkpoint),
        Some(Err(why)) => return Ok(Err(format!("the ledger's own checkpoint: {why}"))),
        None => {}
    }
    Ok(Ok(checkpoints))
}

pub fn verify(
    source: &mut EntrySource,
    kept: &[String],
    key: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let checkpoints = match key.map(key_text).transpose()? {
        None => Vec::new(),
        Some(key) => match checkpoints(source, kept, &key)? {
            Ok(checkpoints) => checkpoints,
            Err(why) => return broken(&why, json),
        },
    };
    let sizes: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.size).collect();
    let mut verifier = Verifier::expecting(checkpoints);
    let mut fault: Option<VerifyError> = None;
    let (mut passkeys, mut forged) = (LedgerSignatureCheck::default(), None);
    source.each(0, |number, text| {
        if fault.is_none() {
            fault = verifier.feed(text.as_bytes()).err();
        }
        if fault.is_none() && forged.is_none() {
            forged = signature(&mut passkeys, text).err().map(|why| (number, why));
        }
        Ok(())
    })?;
    if let Some(fault) = fault.or_else(|| verifier.end().err()) {
        return broken(&fault.to_string(), json);
    }
    if let Some((number, why)) = forged {
        return broken(&format!("entry {number} holds {why}"), json);
    }
    let rows = source.rows()?;
    if let Some(why) = rows.as_ref().and_then(differing) {
        return broken(&why, json);
    }
    let found = Verified {
        size: verifier.size(),
        root: verifier.root().to_string(),
        signed: passkeys.signed(),
        requests: rows.map(|rows| rows.requests),
    };
    found.print(&sizes, json)
}

/// A ledger in which nothing is wrong.
struct Verified {
    size: u64,
    root: String,
    /// Answers that were signed with a passkey.
    signed: u64,
    requests: Option<u64>,
}

impl Verified {
    fn print(&self, sizes: &[u64], json: bool) -> Result<ExitCode, Failure> {
        let Verified { size, root, signed, requests } = self;
        if json {
            return output::json(&serde_json::json!({
                "holds": true, "entries": size, "root": root, "checkpoints": sizes,
                "signed": signed, "requests": requests,
            }));
        }
        output::say(|out, _| {
            writeln!(out, "{} entries, all well formed and in order.", thousands(*size))?;
            writeln!(out, "root {root}")?;
            if *signed > 0 {
                let answers = if *signed == 1 { "answer was" } else { "answers were" };
                let signed = thousands(*signed);
                writeln!(
                    out,
                    "{signed} {answers} signed with a passkey; all signatures are valid."
                )?;
            }
            if let Some(requests) = requests {
                let requests = thousands(*requests);
                writeln!(
                    out,
                    "{requests} requests and all people and credentials are as the ledger says."
                )?;
            }
            against(out, sizes, *size)
        })
    }
}

/// The most differing rows that are named.
const MAX_NAMED: usize = 5;

/// What to say about rows that differ from their entries; nothing if none does.
pub fn differing(rows: &LedgerRows) -> Option<String> {
    let state = |text: &Option<String>| page::safe(text.as_deref().unwrap_or("missing"), 40);
    let named = rows.listed.iter().take(MAX_NAMED).map(|one| {
        let name = one.credential.as_deref().or(one.request.as_deref()).unwrap_or("unknown");
        let (row, ledger) = (state(&one.row), state(&one.ledger));
        format!("{}: {row} in its row, {ledger} in the ledger", page::safe(name, 80))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return None;
    }
    let (verb, first) = match rows.differences {
        1 => ("row differs from its ledger entry", "It is"),
        _ => ("rows differ from their ledger entries", "The first are"),
    };
    Some(format!("{} {verb}. {first} {}", thousands(rows.differences), named.join("; ")))
}

/// What the checkpoints prove.
fn against(out: &mut dyn Write, sizes: &[u64], size: u64) -> Result<(), Failure> {
    match sizes.iter().max() {
        None => writeln!(
            out,
            "Not compared with any checkpoint: this does not show that nothing was changed.\n\
             Keep one elsewhere and give it with --checkpoint and --key."
        )?,
        Some(newest) => {
            let rest = size.saturating_sub(*newest);
            writeln!(
                out,
                "Nothing up to entry {} was changed since it was signed ({} checkpoint{}); {} \
                 entries are newer.",
                thousands(*newest),
                sizes.len(),
                if sizes.len() == 1 { "" } else { "s" },
                thousands(rest)
            )?;
        }
    }
    Ok(())
}

/// Verifies the signatures of passkeys. Most entries have none and are skipped.
fn signature(passkeys: &mut LedgerSignatureCheck, text: &str) -> Result<(), &'static str> {
    if !text.contains("\"passkey") {
        return Ok(());
    }
    Entry::decode(text.as_bytes()).map_or(Ok(()), |entry| passkeys.feed(&entry))
}

/// The newest checkpoint of the ledger signed by this key, if any.
pub fn own_checkpoint(
    source: &EntrySource,
    key: &str,
) -> Result<Option<Result<Checkpoint, String>>, Failure> {
    let note = match source {
        EntrySource::Lines(..) => None,
        EntrySource::Store(store, name) => store.checkpoint().map_err(|e| Failure::at(name, e))?,
        EntrySource::Daemon(session) => match session.checkpoint() {
            Ok(note) => Some(note),
            Err(countersign_client::Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    Ok(note.map(|note| signed_checkpoint(&note, key)))
}

/// Reports that the ledger is invalid.
pub fn broken(why: &str, json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::json(&serde_json::json!({ "holds": false, "why": why }))?;
    } else {
        output::line(&format!("The ledger is invalid: {}", page::safe(why, 2000)))?;
    }
    Ok(ExitCode::FAILURE)
}
