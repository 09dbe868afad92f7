//! `countersign a2a`: takes tasks of other agents, and sends tasks to them.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use countersign_a2a::{
    AgentUrl, CHAIN_VARIABLE, KnownAgent, OutgoingTask, RemoteAgent, TaskResponse, TaskState,
    read_registry, resolve_agent,
};
use countersign_client::{CallRequest, Endpoint, Outcome};
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_tls::{FleetTrust, fleet_client_config};
use serde_json::{Value, json};

use super::args_a2a::{A2a, A2aSend, A2aTask, A2aWhat, RemoteArgs};
use super::{a2a_serve, fleet};
use crate::failure::Failure;
use crate::gate::reach::ProcessEnvironment;
use crate::gate::{output, page, reach};

/// Runs `countersign a2a`.
pub fn run(args: &A2a) -> Result<ExitCode, Failure> {
    match &args.what {
        A2aWhat::Serve(args) => a2a_serve::serve(args),
        A2aWhat::Send(args) => send(args),
        A2aWhat::Status(args) => {
            let RemoteEnd { url, remote, .. } = remote(&args.remote)?;
            shown(args, &url, &remote.get(&args.task_id).map_err(failed)?)
        }
        A2aWhat::Cancel(args) => {
            let RemoteEnd { url, remote, .. } = remote(&args.remote)?;
            shown(args, &url, &remote.cancel(&args.task_id).map_err(failed)?)
        }
        A2aWhat::Card(args) => {
            let RemoteEnd { url, remote, trust } = remote(args)?;
            let (card, signer) = remote.checked_card(&trust).map_err(failed)?;
            output::json(&json!({
                "agent": args.agent, "url": url, "card": card, "signed_by": signer,
            }))
        }
        A2aWhat::Agents { json } => agents(*json),
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Input(page::safe(&error.to_string(), 2000))
}

/// A remote agent, and the trust in its fleet.
struct RemoteEnd {
    url: String,
    remote: RemoteAgent,
    trust: Arc<FleetTrust>,
}

/// The remote agent, over this agent's certificate.
fn remote(args: &RemoteArgs) -> Result<RemoteEnd, Failure> {
    let known = if let Some(url) = &args.url {
        KnownAgent { url: url.clone(), agent: None }
    } else {
        let variable = |name: &str| ProcessEnvironment.get(name);
        resolve_agent(&args.agent, &fleet::registry_file(), variable).map_err(failed)?
    };
    let url = AgentUrl::parse(&known.url).map_err(Failure::Input)?;
    let files = fleet::files(&args.identity)?;
    let trust = files.trust().map_err(failed)?;
    let authority: Endpoint = fleet::authority(&args.identity, args.asker.agents.as_deref())?;
    if let Err(error) = files.refresh(&trust, &authority) {
        // The list that was kept may still be current; the handshake decides.
        let why = page::safe(&error.to_string(), 500);
        let _ = writeln!(
            std::io::stderr(),
            "countersign: {why}; using the last list of revoked certificates"
        );
    }
    let (certificate, key) =
        (files.own_certificate().map_err(failed)?, files.own_key().map_err(failed)?);
    let config =
        fleet_client_config(&certificate, &key, Arc::clone(&trust), known.agent).map_err(failed)?;
    Ok(RemoteEnd { url: known.url, remote: RemoteAgent::new(url, config), trust })
}

fn send(args: &A2aSend) -> Result<ExitCode, Failure> {
    let RemoteEnd { url, remote, trust } = remote(&args.remote)?;
    let own = fleet::files(&args.remote.identity)?.agent().map_err(failed)?;
    let chain = ProcessEnvironment.get(CHAIN_VARIABLE).unwrap_or_default();
    let mut chain: Vec<String> =
        chain.split(',').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect();
    chain.push(own);
    let metadata = metadata(args)?;
    let approved = approved(args, &url, &chain, metadata)?;
    let Some((text, metadata)) = approved else { return Ok(ExitCode::FAILURE) };
    let (card, signer) = remote.checked_card(&trust).map_err(failed)?;
    let remote = remote.following(&card);
    let (requester, answers) = (args.requester.clone(), args.task_id.clone());
    let new = OutgoingTask { text, requester, chain, metadata, answers };
    let mut task = match remote.deliver(&new).map_err(failed)? {
        TaskResponse::Task(task) => task,
        TaskResponse::Message(message) => {
            return output::json(&json!({
                "agent": args.remote.agent, "url": url, "card": card, "signed_by": signer,
                "message": message,
            }));
        }
    };
    if args.wait {
        let id = task.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let seconds = |number: f64| Duration::try_from_secs_f64(number).unwrap_or(Duration::ZERO);
        let pause = seconds(args.poll_interval).max(Duration::from_millis(20));
        let waited = remote.wait(&id, (seconds(args.timeout), pause), |state, task| {
            let note = task.pointer("/status/message/parts/0/text").and_then(Value::as_str);
            let note = page::safe(note.unwrap_or_default(), 500);
            let _ = match state {
                TaskState::AuthRequired => writeln!(std::io::stderr(), "countersign: {note}"),
                TaskState::InputRequired => writeln!(
                    std::io::stderr(),
                    "countersign: the agent asks: {note}\nAnswer with --task-id {id} --task TEXT"
                ),
                _ => Ok(()),
            };
        });
        task = waited.map_err(failed)?;
    }
    let code = outcome(&task);
    output::json(&json!({
        "agent": args.remote.agent, "url": url, "card": card, "signed_by": signer, "task": task,
    }))?;
    Ok(code)
}

/// The metadata for the receiver.
fn metadata(args: &A2aSend) -> Result<Value, Failure> {
    let Some(text) = &args.metadata else { return Ok(Value::Null) };
    let found: Option<Value> = serde_json::from_str(text).ok();
    let found = found.filter(Value::is_object);
    found.ok_or_else(|| Failure::Input("--metadata is not a JSON object".to_owned()))
}

/// Asks the own gate; the text and the metadata that may be sent, or nothing if it was refused.
fn approved(
    args: &A2aSend,
    url: &str,
    chain: &[String],
    metadata: Value,
) -> Result<Option<(String, Value)>, Failure> {
    let mut arguments =
        json!({ "to": args.remote.agent, "url": url, "chain": chain, "task": args.task });
    if let Some(members) = arguments.as_object_mut() {
        members.extend(args.task_id.as_ref().map(|id| ("answers_task".to_owned(), json!(id))));
        let shown = Some(&metadata).filter(|metadata| metadata.is_object());
        members.extend(shown.map(|metadata| ("metadata".to_owned(), metadata.clone())));
    }
    let mut call = CallRequest::tool("delegate_task", &arguments.to_string())?;
    call.permit = true;
    call.description = Some(format!("Task for agent {}", args.remote.agent));
    let agent = reach::agent(&args.remote.asker)?;
    let outcome = agent.ask_with_notice(&call, |request| {
        let words = page::safe(&request.phrase, 60);
        let _ = writeln!(std::io::stderr(), "waiting for approval: {words}");
    })?;
    let Outcome::Approved(approval) = outcome else {
        let reason = page::safe(outcome.request().reason(), 500);
        let _ = writeln!(std::io::stderr(), "countersign: the task was not sent: {reason}");
        return Ok(None);
    };
    let edited = approval.request().edited_arguments.clone();
    let call = match &edited {
        Some(edited) => call.with_arguments(&edited.to_string())?,
        None => call,
    };
    // A gate that only observes signs that there is no request; then there is no permit either.
    let is_observed = approval.request().id.is_none() && approval.request().observed;
    if !is_observed {
        let permit = approval.permit().ok_or_else(|| failed("the gate issued no permit"))?;
        agent.redeem(permit, &call)?;
    }
    match edited {
        None => Ok(Some((args.task.clone(), metadata))),
        Some(edited) => match edited.get("task").and_then(Value::as_str) {
            Some(text) => {
                let metadata = edited.get("metadata").cloned().unwrap_or_default();
                Ok(Some((text.to_owned(), metadata)))
            }
            None => Err(failed("the edited call has no task")),
        },
    }
}

fn outcome(task: &Value) -> ExitCode {
    let state = task.pointer("/status/state").and_then(Value::as_str).and_then(TaskState::parse);
    match state {
        Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn shown(args: &A2aTask, url: &str, task: &Value) -> Result<ExitCode, Failure> {
    output::json(&json!({ "agent": args.remote.agent, "url": url, "task": task }))
}

fn agents(as_json: bool) -> Result<ExitCode, Failure> {
    let file = fleet::registry_file();
    let known = read_registry(&file).map_err(failed)?;
    if as_json {
        let list = known
            .iter()
            .map(|(name, agent)| json!({ "name": name, "url": agent.url, "agent": agent.agent }));
        return output::json(&list.collect::<Vec<_>>());
    }
    output::say(|out, _| {
        if known.is_empty() {
            return Ok(writeln!(out, "No agents in {}.", file.display())?);
        }
        let row = |(name, agent): &(String, KnownAgent)| {
            vec![page::safe(name, 80), page::safe(&agent.url, 200)]
        };
        Ok(page::table(out, &known.iter().map(row).collect::<Vec<_>>())?)
    })
}
