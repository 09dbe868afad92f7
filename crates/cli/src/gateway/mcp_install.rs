//! `countersign mcp install` and `uninstall`: changes are shown before they are written.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use countersign_client::Endpoint;
use countersign_gateways::install::plan::{self, Aim, Done};
use countersign_gateways::install::record::Record;
use countersign_gateways::install::{LONGEST_PATIENCE, Ours, Piece, Place};
use countersign_gateways::mcp::install::{CLIENTS, ProxyCommand, client, named};

use super::args_mcp::Configured;
use super::install::{Detail, agreed, place, program, said, show_edit, shown};
use crate::failure::Failure;
use crate::gate::{output, reach};

/// Puts the servers behind the proxy.
pub fn install(args: &Configured) -> Result<ExitCode, Failure> {
    run(args, Aim::Install)
}

/// Removes the proxy.
pub fn uninstall(args: &Configured) -> Result<ExitCode, Failure> {
    run(args, Aim::Uninstall)
}

fn run(args: &Configured, aim: Aim) -> Result<ExitCode, Failure> {
    let place = place(args.project.as_deref())?;
    let ours = Ours { program: program(&place)?, patience: LONGEST_PATIENCE };
    // The address is written only if a daemon answers there now. Without an address the proxy looks
    // for the daemon itself, each time it is started.
    let agents = reach::agent_endpoint(None, false).ok().filter(answers);
    let agents = agents.map(|endpoint| endpoint.to_string());
    let proxy = ProxyCommand { program: ours.program.clone(), agents };
    let (title, pieces) = meant(args, &place, &proxy)?;
    let name = format!("mcp {title}");
    let state = reach::gateways_folder();
    let record = if args.dry_run { Record::look(&state) } else { Record::open(&state) };
    let mut record = record.map_err(said)?;
    let edits = plan::edits(&name, &pieces, aim, &record).map_err(said)?;
    if edits.is_empty() {
        let words = match aim {
            Aim::Install => "every command server is already behind the proxy",
            Aim::Uninstall => "no server is behind the proxy",
        };
        output::line(&format!("{title}: {words}."))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::say(|out, paint| {
        edits.iter().try_for_each(|edit| show_edit(out, paint, edit, Detail::Whole))
    })?;
    if args.dry_run {
        output::line("Dry run: nothing was written.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !agreed(aim)? {
        output::line("Nothing was written.")?;
        return Ok(ExitCode::FAILURE);
    }
    let done = plan::apply(&name, &edits, aim, &ours, &mut record).map_err(said)?;
    for Done { path, kept, .. } in done {
        let kept = kept
            .map_or_else(String::new, |kept| format!("; the previous file is {}", shown(&kept)));
        output::line(&format!("Wrote {}{kept}.", shown(&path)))?;
    }
    if aim == Aim::Install {
        output::line(&format!(
            "Restart {title}. Servers at a URL are not changed: start \
             `countersign mcp --http URL --listen 127.0.0.1:PORT` for each, and put that address \
             into the file."
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a daemon accepts connections at this address.
fn answers(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Unix(path) => UnixStream::connect(path).is_ok(),
        Endpoint::Tcp(_) => true,
    }
}

/// A client by its name, or a file.
fn meant(
    args: &Configured,
    place: &Place,
    proxy: &ProxyCommand,
) -> Result<(String, Vec<Piece>), Failure> {
    let Some(client) = client(&args.client) else {
        let path = Path::new(&args.client);
        let text = fs::read_to_string(path).map_err(|error| {
            let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
            let why = format!(
                "neither a file ({error}) nor a known client; clients: {}",
                names.join(", ")
            );
            Failure::at(&args.client, why)
        })?;
        let path = std::path::absolute(path)?;
        let title = path.display().to_string();
        return Ok((title, vec![named(&path, &text, proxy)]));
    };
    let pieces = client.pieces(place, proxy);
    if pieces.is_empty() {
        let why = "no configuration of this client was found; name the file, or use --project";
        return Err(Failure::at(client.title, why));
    }
    Ok((client.title.to_owned(), pieces))
}
