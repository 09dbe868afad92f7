//! `countersign servers`: MCP servers and the labels of their tools.

use std::process::ExitCode;

use countersign_client::{ListedToolRecord, NewToolLabel, ServerRecord};

use super::args_servers::{ServersArgs, ServersWhat};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{output, page};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &ServersArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        ServersWhat::List(only) => {
            let servers = PersonSession::open(&only.person)?.servers()?;
            if only.person.json {
                return output::json(&servers);
            }
            output::say(|out, _| {
                if servers.is_empty() {
                    return Ok(writeln!(out, "No MCP servers. The MCP proxy lists them.")?);
                }
                Ok(page::table(out, &servers.iter().map(row).collect::<Vec<_>>())?)
            })
        }
        ServersWhat::Show(args) => {
            let servers = PersonSession::open(&args.person)?.servers()?;
            let server = find(&servers, &args.name)?;
            if args.person.json { output::json(server) } else { show(server) }
        }
        ServersWhat::Label { server, reads, changes, sends, runs, remove, person } => {
            let given = [
                ("reads", reads),
                ("changes", changes),
                ("sends", sends),
                ("runs", runs),
                ("none", remove),
            ];
            let labels: Vec<NewToolLabel> = given
                .into_iter()
                .flat_map(|(label, tools)| {
                    let label = label.to_owned();
                    tools
                        .iter()
                        .map(move |tool| NewToolLabel { tool: tool.clone(), label: label.clone() })
                })
                .collect();
            if labels.is_empty() {
                let what = "no tool is named; use --reads, --changes, --sends, --runs or --remove";
                return Err(Failure::Input(what.to_owned()));
            }
            let session = PersonSession::open_to_change(person)?;
            let servers = session.servers()?;
            let found = find(&servers, server)?;
            let labelled = session.label_tools(&found.id, &found.listing, &labels)?;
            if person.json { output::json(&labelled) } else { show(&labelled) }
        }
    }
}

/// The server with this id, or the only one with this name.
fn find<'s>(servers: &'s [ServerRecord], name: &str) -> Result<&'s ServerRecord, Failure> {
    let mut named = servers.iter().filter(|server| server.id == name || server.name == name);
    match (named.next(), named.next()) {
        (Some(server), None) => Ok(server),
        (Some(_), Some(_)) => Err(Failure::Input(format!(
            "several servers have the name {}; use an id from `countersign servers list`",
            page::safe(name, 60)
        ))),
        (None, _) => Err(Failure::Input(format!("server not found: {}", page::safe(name, 60)))),
    }
}

fn row(server: &ServerRecord) -> Vec<String> {
    let open = server.tools.iter().filter(|tool| tool.label.is_none()).count();
    vec![
        server.id.clone(),
        page::safe(&server.name, 60),
        format!("{} tools, {open} without a label", server.tool_count),
        format!("seen {}", relative_time(server.last_seen, now())),
        page::safe(&server.address, 160),
    ]
}

fn show(server: &ServerRecord) -> Result<ExitCode, Failure> {
    output::say(|out, _| {
        writeln!(out, "{}  {}", page::safe(&server.name, 60), page::safe(&server.address, 400))?;
        writeln!(out, "The texts below are the server's own. Do not trust them.")?;
        let rows: Vec<Vec<String>> = server.tools.iter().map(tool_row).collect();
        page::table(out, &rows)?;
        let shown = u32::try_from(server.tools.len()).unwrap_or(u32::MAX);
        let more = server.tool_count.saturating_sub(shown);
        if more > 0 {
            writeln!(out, "{more} more tools: described by Countersign, or too many to list.")?;
        }
        Ok(())
    })
}

fn tool_row(tool: &ListedToolRecord) -> Vec<String> {
    let label = tool.label.as_deref().map_or("no label".to_owned(), |label| page::safe(label, 20));
    let hint = tool.suggestion.as_deref();
    let hint = hint.map_or(String::new(), |hint| format!("suggested: {}", page::safe(hint, 20)));
    let hidden = if tool.deceptive { "(hidden characters) " } else { "" };
    let said = page::safe(&tool.description, 400);
    vec![page::safe(&tool.name, 80), label, hint, format!("{hidden}{said}")]
}
