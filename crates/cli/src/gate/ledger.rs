//! `countersign ledger`: read, verified, proved, exported.

use std::io::Write;
use std::process::ExitCode;

use countersign_client::Time;
use countersign_client::export::{CSV_HEAD, Format};
use countersign_client::verify::signed_checkpoint;
use countersign_daemon::passkeys::LedgerSignatureCheck;
use countersign_ledger::checkpoint::Checkpoint;
use countersign_ledger::entry::Entry;
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};
use countersign_ledger::verify::{Fault, Verifier};

use super::args::Person;
use super::args_house::{self, LedgerWhat};
use super::credential::Session;
use super::ledger_read::Source;
use super::now::{apart, now};
use super::{house, page};
use crate::core_api::thousands;
use crate::door::{self, Files};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args_house::Ledger) -> Result<ExitCode, Failure> {
    match &args.what {
        LedgerWhat::Show { from, limit, person } => show(*from, *limit, person),
        LedgerWhat::Export { format, from, person } => export(format, *from, person),
        LedgerWhat::Prove { index, key, person } => prove(*index, key.as_deref(), person),
        LedgerWhat::Verify { file, store, checkpoint, key, person } => {
            let mut source = Source::open(file.as_deref(), store.as_deref(), person)?;
            verify(&mut source, checkpoint, key.as_deref(), person.json)
        }
    }
}

fn show(from: Option<u64>, limit: u32, person: &Person) -> Result<ExitCode, Failure> {
    let session = Session::open(person)?;
    let from = match from {
        Some(from) => from,
        None => session.entries(0, 1)?.size.saturating_sub(u64::from(limit)),
    };
    let page = session.entries(from, limit)?;
    if person.json {
        return house::say(|out, _| {
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
            apart(Time::from_millis(entry.at), now),
            entry.kind.word().to_owned(),
            who.join(" / "),
            page::safe(page::short(entry.request.as_deref()), 30),
            facts.collect::<Vec<_>>().join(", "),
        ]);
    }
    house::say(|out, _| Ok(page::table(out, &rows)?))
}

fn export(format: &str, from: u64, person: &Person) -> Result<ExitCode, Failure> {
    let format =
        Format::parse(format).ok_or_else(|| Failure::at("--format", "use jsonl, csv or ocsf"))?;
    let mut source = Source::open(None, None, person)?;
    house::say(|out, _| {
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

/// A key as it was given: the text itself, or a file that holds it.
fn key_text(given: &str) -> Result<String, Failure> {
    let in_file = !given.contains('+');
    let text = if in_file {
        door::text(&format!("@{given}"), "--key", Files::Named)?
    } else {
        given.to_owned()
    };
    Ok(text.trim().to_owned())
}

fn verify(
    source: &mut Source,
    kept: &[String],
    key: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut checkpoints = Vec::new();
    if let Some(key) = key.map(key_text).transpose()? {
        for name in kept {
            let note = door::text(&format!("@{name}"), "--checkpoint", Files::Named)?;
            match signed_checkpoint(&note, &key) {
                Ok(checkpoint) => checkpoints.push(checkpoint),
                Err(why) => {
                    return broken(&format!("{}: {why}", page::safe(name, 400)), json);
                }
            }
        }
        if let Some(checkpoint) = own_checkpoint(source, &key)? {
            match checkpoint {
                Ok(checkpoint) => checkpoints.push(checkpoint),
                Err(why) => return broken(&format!("the ledger's own checkpoint: {why}"), json),
            }
        }
    }
    let sizes: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.size).collect();
    let mut verifier = Verifier::expecting(checkpoints);
    let mut fault: Option<Fault> = None;
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
    let signed = passkeys.signed();
    let (size, root) = (verifier.size(), verifier.root().to_string());
    if json {
        return house::json(&serde_json::json!({
            "holds": true, "entries": size, "root": root, "checkpoints": sizes,
            "signed": signed,
        }));
    }
    house::say(|out, _| {
        writeln!(out, "{} entries, each whole, none back in time.", thousands(size))?;
        writeln!(out, "root {root}")?;
        if signed > 0 {
            let answers = if signed == 1 { "answer was" } else { "answers were" };
            let signed = thousands(signed);
            writeln!(out, "{signed} {answers} signed with a passkey; each signature fits.")?;
        }
        against(out, &sizes, size)
    })
}

/// What the checkpoints show.
fn against(out: &mut dyn Write, sizes: &[u64], size: u64) -> Result<(), Failure> {
    match sizes.iter().max() {
        None => writeln!(
            out,
            "Not held against any checkpoint: this does not show that nothing was changed.\n\
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

/// Checks the signatures of passkeys. Most entries have none and are not read for it.
fn signature(passkeys: &mut LedgerSignatureCheck, text: &str) -> Result<(), &'static str> {
    if !text.contains("\"passkey") {
        return Ok(());
    }
    Entry::decode(text.as_bytes()).map_or(Ok(()), |entry| passkeys.feed(&entry))
}

/// The ledger's own newest checkpoint by this key; none if there is none.
fn own_checkpoint(
    source: &Source,
    key: &str,
) -> Result<Option<Result<Checkpoint, String>>, Failure> {
    let note = match source {
        Source::Lines(..) => None,
        Source::Store(store, name) => store.checkpoint().map_err(|e| Failure::at(name, e))?,
        Source::Daemon(session) => match session.checkpoint() {
            Ok(note) => Some(note),
            Err(countersign_client::Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    Ok(note.map(|note| signed_checkpoint(&note, key)))
}

fn prove(index: u64, key: Option<&str>, person: &Person) -> Result<ExitCode, Failure> {
    let source = Source::Daemon(Box::new(Session::open(person)?));
    let Source::Daemon(session) = &source else { return Ok(ExitCode::FAILURE) };
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
        return Err(Failure::Input(format!("there is no entry {index}")));
    };
    let proof = session.inclusion(index, checkpoint.size)?;
    let (leaf, hashes) = (leaf_hash(entry.as_bytes()), proof.hashes()?);
    if let Err(why) = verify_inclusion(&leaf, index, checkpoint.size, &hashes, &checkpoint.root) {
        return broken(&why.to_string(), person.json);
    }
    if person.json {
        return house::json(&serde_json::json!({
            "holds": true, "index": index, "size": checkpoint.size,
            "root": checkpoint.root.to_string(), "entry": entry, "proof": proof.proof,
        }));
    }
    house::say(|out, _| {
        writeln!(out, "{}", page::safe(entry, 64 << 10))?;
        Ok(writeln!(
            out,
            "\nEntry {index} stands in the ledger of {} entries that was signed; {} hashes prove it.",
            thousands(checkpoint.size),
            hashes.len()
        )?)
    })
}

fn broken(why: &str, json: bool) -> Result<ExitCode, Failure> {
    if json {
        house::json(&serde_json::json!({ "holds": false, "why": why }))?;
    } else {
        house::line(&format!("The ledger does not hold: {}", page::safe(why, 2000)))?;
    }
    Ok(ExitCode::FAILURE)
}
