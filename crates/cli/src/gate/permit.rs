//! `countersign permit verify`: signature, call, agent and time, without asking anybody.

use std::process::ExitCode;

use countersign_client::verify::{keys, permit_for};
use countersign_client::{Endpoint, fetch};

use super::args_house::{self, PermitWhat};
use super::now::now;
use super::{house, page};
use crate::core_api;
use crate::door::{self, Files};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args_house::Permit) -> Result<ExitCode, Failure> {
    let PermitWhat::Verify { file, jwks, call, agent, json } = &args.what;
    let named = if file == "-" { file.clone() } else { format!("@{file}") };
    let permit = door::text(&named, "permit", Files::Named)?;
    let set = match jwks.strip_prefix("http://") {
        Some(rest) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            fetch(&Endpoint::parse(authority)?, &format!("/{path}"))?
        }
        None => door::text(&format!("@{jwks}"), "--jwks", Files::Named)?,
    };
    let keys = keys(&set).map_err(|error| Failure::at("--jwks", error))?;
    let text = door::text(call, "--call", Files::Named)?;
    let value = core_api::read_json(&text).map_err(|error| Failure::at("--call", error))?;
    let mut call = core_api::read_call(&value).map_err(|error| Failure::at("--call", error))?;
    call.agent = Some(agent.as_str().into());
    let digest = core_api::call_digest(&call, core_api::raw_arguments(&text));
    let found = permit_for(&permit, &keys, digest, agent, now().millis().div_euclid(1000));
    match found {
        Ok(claims) => {
            if *json {
                let claims: serde_json::Value = serde_json::from_str(&claims.to_json())?;
                return house::json(&serde_json::json!({ "valid": true, "claims": claims }));
            }
            house::say(|out, _| {
                let by = page::safe(&claims.decided_by, 200);
                let tool = page::safe(&claims.tool, 200);
                writeln!(
                    out,
                    "It holds: {tool} for {}, approved by {by}.",
                    page::safe(agent, 200)
                )?;
                Ok(writeln!(out, "Whether it was used before cannot be seen offline: redeem it.")?)
            })
        }
        Err(why) => {
            if *json {
                house::json(&serde_json::json!({ "valid": false, "why": why }))?;
            } else {
                house::line(&format!("It permits nothing: {}", page::safe(&why, 400)))?;
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
