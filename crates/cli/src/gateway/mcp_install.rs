//! `countersign mcp install` and `uninstall`: changes are shown before they are written.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use countersign_client::Endpoint;
use countersign_gateways::agents::{mcp_client, mcp_clients};
use countersign_gateways::install::plan::{self, AppliedEdit, InstallAction, plan_edits};
use countersign_gateways::install::record::InstallRecord;
use countersign_gateways::install::{FileEdit, HookCommand, InstallScope, MAX_PATIENCE};
use countersign_gateways::mcp::install::{ProxyCommand, named};

use super::args_mcp::Configured;
use super::edit_view::{Detail, show_edit};
use super::install::agreed;
use super::scopes::{install_failure, scope, shown};
use crate::failure::Failure;
use crate::gate::{output, reach};
use crate::hook_program::program;

/// Puts the servers behind the proxy.
pub fn install(args: &Configured) -> Result<ExitCode, Failure> {
    run(args, InstallAction::Install)
}

/// Removes the proxy.
pub fn uninstall(args: &Configured) -> Result<ExitCode, Failure> {
    run(args, InstallAction::Uninstall)
}

fn run(args: &Configured, action: InstallAction) -> Result<ExitCode, Failure> {
    let scope = scope(args.project.as_deref())?;
    let program = program(&scope)?;
    let daemon_key = Some(reach::installed_key());
    let command = HookCommand { program, patience: MAX_PATIENCE, daemon_key };
    // The address is written only if a daemon answers there now. Without an address the proxy looks
    // for the daemon itself, each time it is started.
    let agents = reach::agent_endpoint(None, false).ok().filter(answers);
    let agents = agents.map(|endpoint| endpoint.address());
    let (program, daemon_key) = (command.program.clone(), command.daemon_key.clone());
    let proxy = ProxyCommand { program, agents, daemon_key };
    let (title, files) = meant(args, &scope, &proxy)?;
    let name = format!("mcp {title}");
    let state = reach::gateways_folder();
    let record =
        if args.dry_run { InstallRecord::read(&state) } else { InstallRecord::open(&state) };
    let mut record = record.map_err(install_failure)?;
    let edits = plan_edits(&name, &files, action, &record).map_err(install_failure)?;
    if edits.is_empty() {
        let words = match action {
            InstallAction::Install => "every command server is already behind the proxy",
            InstallAction::Uninstall => "no server is behind the proxy",
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
    if !args.yes && !agreed(action)? {
        output::line("Nothing was written.")?;
        return Ok(ExitCode::FAILURE);
    }
    let done =
        plan::apply(&name, &edits, action, &command, &mut record).map_err(install_failure)?;
    for AppliedEdit { path, backup, .. } in done {
        let kept = backup.map_or_else(String::new, |backup| {
            format!("; the previous file is {}", shown(&backup))
        });
        output::line(&format!("Wrote {}{kept}.", shown(&path)))?;
    }
    if action == InstallAction::Install {
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
        Endpoint::Tcp(_) | Endpoint::Tls { .. } => true,
    }
}

/// A client by its name, or a file.
fn meant(
    args: &Configured,
    scope: &InstallScope,
    proxy: &ProxyCommand,
) -> Result<(String, Vec<FileEdit>), Failure> {
    let Some(client) = mcp_client(&args.client) else {
        let path = Path::new(&args.client);
        let text = fs::read_to_string(path).map_err(|error| {
            let names: Vec<&str> = mcp_clients().map(|client| client.name).collect();
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
    let edits = client.file_edits(scope, proxy);
    if edits.is_empty() {
        let why = "no configuration of this client was found; name the file, or use --project";
        return Err(Failure::at(client.title, why));
    }
    Ok((client.title.to_owned(), edits))
}
