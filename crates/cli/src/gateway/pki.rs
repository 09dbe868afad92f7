//! `countersign pki`: the certificates of a fleet of agents.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use countersign_a2a::FleetFiles;
use countersign_client::CertificateRecord;
use countersign_json::base64;
use countersign_tls::{generate_key, issue_text, sign_with_key};
use countersign_types::time::Timestamp;
use serde_json::json;
use zeroize::Zeroizing;

use super::args_a2a::{Pki, PkiWhat};
use super::fleet;
use crate::failure::Failure;
use crate::gate::args::PersonArgs;
use crate::gate::credential::PersonSession;
use crate::gate::now::now;
use crate::gate::{output, page};

/// Runs `countersign pki`.
pub fn run(args: &Pki) -> Result<ExitCode, Failure> {
    match &args.what {
        PkiWhat::Init { fleet, ca_cert, ca_key, person } => {
            init(fleet.as_deref(), ca_cert.as_deref().zip(ca_key.as_deref()), person)
        }
        PkiWhat::Issue { agent, hosts, days, out, person } => {
            issue(agent, hosts, *days, out.as_deref(), person)
        }
        PkiWhat::Revoke(args) => {
            let session = PersonSession::open_to_change(&args.person)?;
            let revoked = session.revoke_certificates(&args.name)?;
            if args.person.json {
                return output::json(&json!({ "revoked": revoked }));
            }
            let count = match revoked.len() {
                1 => "one certificate".to_owned(),
                count => format!("{count} certificates"),
            };
            output::line(&format!("Revoked {count}. Every agent refuses it within a minute."))
        }
        PkiWhat::List(args) => list(&args.person),
        PkiWhat::Renew { identity, agents } => {
            let files = fleet::files(identity)?;
            let authority = fleet::authority(identity, agents.as_deref())?;
            files.renew(&authority).map_err(|error| Failure::Input(error.to_string()))?;
            output::line(&format!("Renewed {}.", files.certificate.display()))
        }
    }
}

fn init(
    name: Option<&str>,
    existing: Option<(&Path, &Path)>,
    person: &PersonArgs,
) -> Result<ExitCode, Failure> {
    let read = |file: &Path| {
        let text = fs::read_to_string(file).map(Zeroizing::new);
        text.map_err(|error| Failure::at(&file.display().to_string(), error))
    };
    let body = match existing {
        Some((certificate, key)) => {
            json!({ "certificate": *read(certificate)?, "key": *read(key)? })
        }
        None => json!({ "fleet": name.unwrap_or("Countersign fleet") }),
    };
    let authority = PersonSession::open_to_change(person)?.set_up_fleet(&body)?;
    if person.json {
        return output::json(&authority);
    }
    let pin = authority.get("pin").and_then(serde_json::Value::as_str).unwrap_or_default();
    output::line(&format!(
        "The fleet's authority is set up ({}). Next: countersign pki issue NAME",
        page::safe(pin, 100)
    ))
}

fn issue(
    agent: &str,
    hosts: &[String],
    days: u32,
    out: Option<&Path>,
    person: &PersonArgs,
) -> Result<ExitCode, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    if !countersign_tls::is_agent_name(agent) {
        return Err(Failure::Input(
            "a name must have 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`".to_owned(),
        ));
    }
    let folder = out.map_or_else(fleet::pki_folder, Path::to_owned);
    let files = FleetFiles::in_folder(&folder, agent);
    let key = match files.own_key() {
        Ok(key) => key,
        Err(_) if !files.key.exists() => {
            let key = generate_key().map_err(|error| failed(&error))?;
            files.keep_key(&key).map_err(|error| failed(&error))?;
            key
        }
        Err(error) => return Err(failed(&error)),
    };
    let hosts: Vec<String> = match hosts {
        [] => ["localhost", "127.0.0.1", "::1"].map(ToOwned::to_owned).to_vec(),
        hosts => hosts.to_vec(),
    };
    let (public, proof) =
        sign_with_key(&key, |public| issue_text(agent, public)).map_err(|error| failed(&error))?;
    let issued = PersonSession::open_to_change(person)?.issue_certificate(&json!({
        "agent": agent, "hosts": hosts, "days": days,
        "public_key": base64::encode(public.as_bytes()), "proof": base64::encode(&proof),
    }))?;
    files.keep(&issued.certificate, &issued.authority).map_err(|error| failed(&error))?;
    if person.json {
        return output::json(&issued.record);
    }
    output::line(&format!(
        "{} has a certificate until {}: {}",
        page::safe(agent, 80),
        Timestamp(issued.record.expires),
        files.certificate.display()
    ))
}

fn list(person: &PersonArgs) -> Result<ExitCode, Failure> {
    let found = PersonSession::open(person)?.fleet()?;
    if person.json {
        return output::json(&found);
    }
    output::say(|out, _| {
        if found.authority.is_none() {
            return Ok(writeln!(out, "No authority; run `countersign pki init` first.")?);
        }
        Ok(page::table(out, &found.certificates.iter().map(row).collect::<Vec<_>>())?)
    })
}

fn row(one: &CertificateRecord) -> Vec<String> {
    let state = match one.revoked {
        Some(at) => format!("revoked {}", Timestamp(at)),
        None if one.expires <= now().millis() => "expired".to_owned(),
        None => format!("valid until {}", Timestamp(one.expires)),
    };
    let hosts: Vec<String> = one.hosts.iter().map(|host| page::safe(host, 80)).collect();
    vec![page::safe(&one.agent, 80), page::safe(&one.serial, 40), state, hosts.join(", ")]
}
