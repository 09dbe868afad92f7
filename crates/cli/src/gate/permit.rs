//! `countersign permit verify`: signature, call, agent and expiry, offline.

use std::process::ExitCode;

use countersign_client::verify::{keys, permit_for};
use countersign_client::{Endpoint, fetch};

use super::args_admin::{self, PermitWhat};
use super::now::now;
use super::{output, page};
use crate::engine;
use crate::failure::Failure;
use crate::input::{self, Files};

/// The address and the path of a URL. What follows `#` belongs to the address.
fn url(text: &str) -> Option<(String, String)> {
    let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"))?;
    let (rest, trust) = rest.split_once('#').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let trust = if trust.is_empty() { String::new() } else { format!("#{trust}") };
    Some((format!("{scheme}://{authority}{trust}"), format!("/{path}")))
}

/// Runs the command.
pub fn run(args: &args_admin::Permit) -> Result<ExitCode, Failure> {
    let PermitWhat::Verify { file, jwks, call, agent, json } = &args.what;
    let named = if file == "-" { file.clone() } else { format!("@{file}") };
    let permit = input::text(&named, "permit", Files::Named)?;
    let set = match url(jwks) {
        Some((address, path)) => fetch(&Endpoint::parse(&address)?, &path)?,
        None => input::text(&format!("@{jwks}"), "--jwks", Files::Named)?,
    };
    let keys = keys(&set).map_err(|error| Failure::at("--jwks", error))?;
    let text = input::text(call, "--call", Files::Named)?;
    let value = engine::read_json(&text).map_err(|error| Failure::at("--call", error))?;
    let mut call = engine::read_call(&value).map_err(|error| Failure::at("--call", error))?;
    call.agent = Some(agent.as_str().into());
    let digest = engine::call_digest(&call, engine::raw_arguments(&text));
    let found = permit_for(&permit, &keys, digest, agent, now().millis().div_euclid(1000));
    match found {
        Ok(claims) => {
            if *json {
                let claims: serde_json::Value = serde_json::from_str(&claims.to_json())?;
                return output::json(&serde_json::json!({ "valid": true, "claims": claims }));
            }
            output::say(|out, _| {
                let by = page::safe(&claims.decided_by, 200);
                let tool = page::safe(&claims.tool, 200);
                writeln!(out, "Valid: {tool} for {}, approved by {by}.", page::safe(agent, 200))?;
                Ok(writeln!(
                    out,
                    "Whether it was already used cannot be checked offline; redeem it to be sure."
                )?)
            })
        }
        Err(why) => {
            if *json {
                output::json(&serde_json::json!({ "valid": false, "why": why }))?;
            } else {
                output::line(&format!("Invalid permit: {}", page::safe(&why, 400)))?;
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
