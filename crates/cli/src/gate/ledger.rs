//! `countersign ledger`: show, verify, acknowledge, rebase-clock, prove, export.

use std::process::ExitCode;

use countersign_client::Time;
use countersign_client::export::{CSV_HEAD, Format};
use countersign_ledger::entry::Entry;
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};

use super::args::PersonArgs;
use super::args_admin::{self, LedgerWhat};
use super::credential::PersonSession;
use super::ledger_read::EntrySource;
use super::ledger_verify::{broken, key_text, own_checkpoint, verify};
use super::now::{now, relative_time};
use super::{output, page};
use crate::engine::thousands;
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args_admin::LedgerArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        LedgerWhat::Show { from, limit, person } => show(*from, *limit, person),
        LedgerWhat::Export { format, from, person } => export(format, *from, person),
        LedgerWhat::Prove { index, key, person } => prove(*index, key.as_deref(), person),
        LedgerWhat::Acknowledge { reason, person } => acknowledge(reason, person),
        LedgerWhat::RebaseClock { reason, time, person } => {
            rebase_clock(reason, time.as_deref(), person)
        }
        LedgerWhat::Verify { file, store, checkpoint, key, person } => {
            let mut source = EntrySource::open(file.as_deref(), store.as_deref(), person)?;
            verify(&mut source, checkpoint, key.as_deref(), person.json)
        }
    }
}

fn show(from: Option<u64>, limit: u32, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(person)?;
    let from = match from {
        Some(from) => from,
        None => session.entries(0, 1)?.size.saturating_sub(u64::from(limit)),
    };
    let page = session.entries(from, limit)?;
    if person.json {
        return output::say(|out, _| {
            for text in &page.entries {
                writeln!(out, "{text}")?;
            }
            Ok(())
        });
    }
    let now = now();
    let mut rows = Vec::new();
    for (seq, text) in (page.from..).zip(&page.entries) {
        let place = format!("entry {seq}");
        let entry = Entry::decode(text.as_bytes()).map_err(|error| Failure::at(&place, error))?;
        let who = [entry.person.as_deref(), entry.agent.as_deref(), entry.session.as_deref()];
        let who: Vec<String> = who.into_iter().flatten().map(|name| page::safe(name, 40)).collect();
        let facts = entry.facts.iter().map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
            format!("{} {}", page::safe(name, 40), page::safe(&value, 80))
        });
        rows.push(vec![
            seq.to_string(),
            relative_time(Time::from_millis(entry.at), now),
            entry.kind.as_str().to_owned(),
            who.join(" / "),
            page::safe(page::short(entry.request.as_deref()), 30),
            facts.collect::<Vec<_>>().join(", "),
        ]);
    }
    output::say(|out, _| Ok(page::table(out, &rows)?))
}

fn export(format: &str, from: u64, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let format =
        Format::parse(format).ok_or_else(|| Failure::at("--format", "use jsonl, csv or ocsf"))?;
    let mut source = EntrySource::open(None, None, person)?;
    output::say(|out, _| {
        if format == Format::Csv {
            writeln!(out, "{CSV_HEAD}")?;
        }
        source.each(from, |seq, text| {
            let line = format.line(seq, text);
            let line = line.map_err(|error| Failure::at(&format!("entry {seq}"), error))?;
            Ok(writeln!(out, "{line}")?)
        })
    })
}

fn acknowledge(reason: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let fault = PersonSession::open_to_change(person)?.acknowledge_ledger(reason)?;
    if person.json {
        return output::json(&serde_json::json!({ "acknowledged": fault }));
    }
    output::line(&format!(
        "Acknowledged: {}. Calls can be approved again.",
        page::safe(&fault, 1000)
    ))
}

fn rebase_clock(
    reason: &str,
    time: Option<&str>,
    person: &PersonArgs,
) -> Result<ExitCode, Failure> {
    let time = time.map_or_else(|| now().to_string(), str::to_owned);
    let to = PersonSession::open_to_change(person)?.rebase_clock(&time, reason)?;
    if person.json {
        return output::json(&serde_json::json!({ "time": to }));
    }
    output::line(&format!(
        "Rebased to {}. Pending requests, grants, permits and logins have ended, and the daemon \
         stops. A service starts again by itself; otherwise: countersign serve",
        page::safe(&to, 40)
    ))
}

fn prove(index: u64, key: Option<&str>, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let source = EntrySource::Daemon(Box::new(PersonSession::open(person)?));
    let EntrySource::Daemon(session) = &source else { return Ok(ExitCode::FAILURE) };
    let key = key.map(key_text).transpose()?;
    let key = key.map_or_else(|| session.ledger_key().map(|own| own.vkey), Ok)?;
    let checkpoint = match own_checkpoint(&source, &key)? {
        Some(Ok(checkpoint)) => checkpoint,
        Some(Err(why)) => return broken(&why, person.json),
        None => return Err(Failure::Input("no checkpoint has been signed yet".to_owned())),
    };
    if index >= checkpoint.size {
        return Err(Failure::Input(format!(
            "the newest checkpoint covers {} entries; wait for the next one",
            checkpoint.size
        )));
    }
    let page = session.entries(index, 1)?;
    let Some(entry) = page.entries.first() else {
        return Err(Failure::Input(format!("entry {index} does not exist")));
    };
    let proof = session.inclusion(index, checkpoint.size)?;
    let (leaf, hashes) = (leaf_hash(entry.as_bytes()), proof.hashes()?);
    if let Err(why) = verify_inclusion(&leaf, index, checkpoint.size, &hashes, &checkpoint.root) {
        return broken(&why.to_string(), person.json);
    }
    if person.json {
        return output::json(&serde_json::json!({
            "holds": true, "index": index, "size": checkpoint.size,
            "root": checkpoint.root.to_string(), "entry": entry, "proof": proof.proof,
        }));
    }
    output::say(|out, _| {
        writeln!(out, "{}", page::safe(entry, 64 << 10))?;
        Ok(writeln!(
            out,
            "\nEntry {index} is in the signed ledger of {} entries; {} hashes prove it.",
            thousands(checkpoint.size),
            hashes.len()
        )?)
    })
}
