//! Starts a server as a child process, and ends it with the proxy.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use countersign_client::AgentClient;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::pipes::{PipeRead, PipeWriter, read_lines};
use super::transport::StdioTransport;
use crate::mcp::engine::Engine;
use crate::mcp::engine::observer::ServerKnowledge;
use crate::mcp::known_tools::KnownTools;
use crate::mcp::pending_calls::PendingCalls;
use crate::mcp::pins::Pins;
use crate::mcp::replies;
use crate::mcp::reporter::Reporter;
use crate::mcp::resume_token::ResumeTokens;
use crate::mcp::settings::{McpError, ProxySettings};
use crate::mcp::threads::{run_blocking, start};
use crate::mcp::tool_labels::LabelledServer;

/// How long a server may take to end by itself, and then after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last responses may take when the proxy ends.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// What happens to a proxy.
enum Event {
    /// The client closed its output.
    ClientEnded,
    /// The server closed its output.
    ServerEnded,
    /// The server's process has ended.
    Exited(Option<ExitStatus>),
    /// The proxy got a signal that asks it to end.
    Signal(Signal),
}

/// A proxy that runs.
struct StdioProxy {
    engine: Arc<Engine<StdioTransport>>,
    pending: Arc<PendingCalls>,
    knowledge: Arc<ServerKnowledge>,
    group: Pid,
}

/// Runs `words` as an MCP server behind standard input and output. The exit code is the server's.
pub fn run_stdio(
    settings: ProxySettings,
    agent: AgentClient,
    words: &[String],
) -> Result<u8, McpError> {
    let [program, arguments @ ..] = words else {
        return Err(McpError("no server is named after `--`".to_owned()));
    };
    let failed = |error: &dyn std::fmt::Display| McpError(error.to_string());
    let tokens = ResumeTokens::new().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let child = Command::new(program)
        .args(arguments)
        // The server is not the agent: it may not ask in its name.
        .env_remove("COUNTERSIGN_AGENT_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| McpError(format!("{program}: {error}")))?;
    let pins = Pins::new(&settings.state, &settings.server, words);
    let reporter = Reporter::new(agent.clone(), &settings.state);
    let labels = LabelledServer::new(agent.clone(), &settings.server, address(words));
    let knowledge = ServerKnowledge::new(KnownTools::new(pins), reporter, labels);
    let pending = PendingCalls::new(agent, tokens);
    let code = runtime.block_on(serve(settings, knowledge, pending, child));
    code.map_err(|error| failed(&error))
}

/// The command with its working directory: the same words start another server elsewhere.
fn address(words: &[String]) -> String {
    let folder = std::env::current_dir().unwrap_or_default();
    format!("{} (in {})", words.join(" "), folder.display())
}

async fn serve(
    settings: ProxySettings,
    knowledge: Arc<ServerKnowledge>,
    pending: Arc<PendingCalls>,
    mut child: Child,
) -> io::Result<u8> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (Some(input), Some(output), Some(group)) = (child.stdin.take(), child.stdout.take(), group)
    else {
        return Err(io::Error::other("the server has no pipes"));
    };
    let (to_server, _) = PipeWriter::start(input)?;
    let (to_client, flushed) = PipeWriter::start(io::stdout())?;
    let (from_client, from_server) = (read_lines(io::stdin())?, read_lines(output)?);
    let transport = StdioTransport::new(Arc::clone(&knowledge), to_server, to_client);
    let (knows, waits) = (Arc::clone(&knowledge), Arc::clone(&pending));
    let engine = Engine::new(settings, transport, knows, waits);
    let (events, happened) = mpsc::unbounded_channel();
    wait_for_exit(child, events.clone())?;
    tokio::spawn(wait_for_signals(events.clone()));
    tokio::spawn(serve_client(Arc::clone(&engine), from_client, events.clone()));
    tokio::spawn(serve_server(Arc::clone(&engine), from_server, events));
    let proxy = StdioProxy { engine, pending, knowledge, group };
    let status = proxy.until_end(happened).await;
    proxy.finish(flushed).await;
    Ok(exit_code(status))
}

/// Reads the client's messages until it ends.
async fn serve_client(
    engine: Arc<Engine<StdioTransport>>,
    mut lines: mpsc::Receiver<PipeRead>,
    events: UnboundedSender<Event>,
) {
    while let Some(read) = lines.recv().await {
        match read {
            PipeRead::Line(line) => engine.handle(engine.transport().clone(), line).await,
            // It cannot be checked as a whole.
            PipeRead::Part(_) => {}
            PipeRead::LastPart(_) => {
                let error = replies::error("null", -32600, "the message is too long");
                engine.transport().say(error).await;
            }
        }
    }
    let _ = events.send(Event::ClientEnded);
}

/// Reads the server's messages until it ends.
async fn serve_server(
    engine: Arc<Engine<StdioTransport>>,
    mut lines: mpsc::Receiver<PipeRead>,
    events: UnboundedSender<Event>,
) {
    while let Some(read) = lines.recv().await {
        engine.transport().server_wrote(read).await;
    }
    let _ = events.send(Event::ServerEnded);
}

fn wait_for_exit(mut child: Child, events: UnboundedSender<Event>) -> io::Result<()> {
    start(move || drop(events.send(Event::Exited(child.wait().ok()))))
}

/// Reports every signal that asks the proxy to end. If signals cannot be handled, they end the
/// proxy, and the server sees that its input has ended.
async fn wait_for_signals(events: UnboundedSender<Event>) {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = kinds.map(signal) else { return };
    loop {
        let received = tokio::select! {
            _ = terminate.recv() => Signal::TERM,
            _ = interrupt.recv() => Signal::INT,
            _ = hangup.recv() => Signal::HUP,
        };
        if events.send(Event::Signal(received)).is_err() {
            return;
        }
    }
}

impl StdioProxy {
    /// Waits until the server's process and its output have ended.
    async fn until_end(&self, mut events: UnboundedReceiver<Event>) -> Option<ExitStatus> {
        let (mut deadline, mut is_last_warning) = (None, false);
        let (mut exited, mut is_silent) = (None, false);
        loop {
            if let (Some(status), true) = (exited, is_silent) {
                return status;
            }
            let event = match deadline {
                None => Ok(events.recv().await),
                Some(end) => timeout_at(end, events.recv()).await,
            };
            let soon = Instant::now() + GRACE;
            match event {
                Ok(None) => return None,
                Ok(Some(Event::ClientEnded)) => {
                    self.hang_up();
                    deadline = deadline.or(Some(soon));
                }
                Ok(Some(Event::ServerEnded)) => {
                    is_silent = true;
                    self.server_ended().await;
                    deadline = deadline.or(Some(soon));
                }
                Ok(Some(Event::Exited(status))) => {
                    exited = Some(status);
                    // Its last messages are on their way; a grandchild may keep the pipe open.
                    deadline = Some(soon);
                }
                Ok(Some(Event::Signal(signal))) => {
                    let _ = kill_process_group(self.group, signal);
                    self.hang_up();
                    deadline = deadline.or(Some(soon));
                    is_last_warning = true;
                }
                Err(_) if exited.is_some() => {
                    self.server_ended().await;
                    let _ = kill_process_group(self.group, Signal::TERM);
                    is_silent = true;
                }
                Err(_) => {
                    let signal = if is_last_warning { Signal::KILL } else { Signal::TERM };
                    let _ = kill_process_group(self.group, signal);
                    is_last_warning = true;
                    deadline = Some(soon);
                }
            }
        }
    }

    /// The client is gone: its calls are withdrawn, then the server's input is closed.
    fn hang_up(&self) {
        let transport = self.engine.transport().clone();
        let requests = self.pending.clear();
        transport.client_ended();
        let pending = Arc::clone(&self.pending);
        tokio::spawn(async move {
            // Without a thread the requests stay until their deadlines.
            let _ = run_blocking(move || pending.cancel_requests(requests)).await;
            transport.close_server();
        });
    }

    /// The server is gone: every open request gets an error, and what waits is withdrawn.
    async fn server_ended(&self) {
        let requests = self.pending.clear();
        self.engine.transport().server_ended().await;
        let pending = Arc::clone(&self.pending);
        let _ = run_blocking(move || pending.cancel_requests(requests)).await;
    }

    /// Sends the last responses and reports.
    async fn finish(&self, flushed: oneshot::Receiver<()>) {
        self.engine.finish(FINISH_TIMEOUT).await;
        self.engine.transport().close_client();
        let _ = timeout(FINISH_TIMEOUT, flushed).await;
        let knowledge = Arc::clone(&self.knowledge);
        let _ = run_blocking(move || knowledge.reporter.close()).await;
    }
}

fn exit_code(status: Option<ExitStatus>) -> u8 {
    let code = status.and_then(|status| status.code().or_else(|| Some(128 + status.signal()?)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
