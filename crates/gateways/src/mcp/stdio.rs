//! A server that is a child of ours: started, spoken to over pipes, never left behind.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::AgentClient;
use rustix::process::{Pid, Signal, kill_process_group};

use super::desk::Desk;
use super::lines::{self, Lines};
use super::message::LONGEST;
use super::park::Parking;
use super::pins::Pins;
use super::session::{Session, lock, put};
use super::tools::Tools;
use super::{McpError, Settings};

/// How long a server may take to end by itself, and then once it was told to.
const GRACE: Duration = Duration::from_secs(2);
/// How much is read at once.
const ROOM: usize = 64 << 10;

/// What happens to a proxy.
enum Event {
    /// The client hung up.
    ClientEnded,
    /// The server hung up.
    ServerEnded,
    /// The server's process is over.
    Exited(Option<ExitStatus>),
    /// We were told to end.
    Told(Signal),
}

/// Runs `words` as an MCP server and stands between it and whoever holds our standard input and
/// output. The exit code is the server's.
pub fn run(settings: Settings, agent: AgentClient, words: &[String]) -> Result<u8, McpError> {
    let [program, arguments @ ..] = words else {
        return Err(McpError("no server is named after `--`".to_owned()));
    };
    let mut child = Command::new(program)
        .args(arguments)
        // The server is not the agent: it may not ask in its name.
        .env_remove("COUNTERSIGN_AGENT_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| McpError(format!("{program}: {error}")))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (Some(to_server), Some(said), Some(group)) =
        (child.stdin.take(), child.stdout.take(), group)
    else {
        return Err(McpError("the server has no pipes".to_owned()));
    };
    let pins = Pins::new(&settings.state, &settings.server, words);
    let parking = Parking::new().map_err(|error| McpError(error.to_string()))?;
    let desk = Desk::new(agent, parking);
    let out = Box::new(io::stdout());
    let session = Session::new(settings, Tools::new(pins), desk, Box::new(to_server), out);
    let (sender, events) = mpsc::channel();
    follow(&sender, {
        let session = Arc::clone(&session);
        move || {
            from_server(&session, said);
            Event::ServerEnded
        }
    });
    follow(&sender, {
        let session = Arc::clone(&session);
        move || {
            from_client(&session);
            Event::ClientEnded
        }
    });
    signals(sender.clone());
    follow(&sender, move || Event::Exited(wait(&mut child)));
    Ok(last(&session, &events, group))
}

/// A thread that ends with an event.
fn follow(events: &Sender<Event>, what: impl FnOnce() -> Event + Send + 'static) {
    let events = events.clone();
    thread::spawn(move || {
        let _ = events.send(what());
    });
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    child.wait().ok()
}

/// Passes on every signal that asks for an end. Where they cannot be heard, they end us, and the
/// server notices that its input is over.
fn signals(events: Sender<Event>) {
    thread::spawn(move || -> Option<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate()).ok()?;
            let mut interrupt = signal(SignalKind::interrupt()).ok()?;
            let mut hangup = signal(SignalKind::hangup()).ok()?;
            loop {
                let told = std::future::poll_fn(|context| {
                    let heard = [
                        (terminate.poll_recv(context), Signal::TERM),
                        (interrupt.poll_recv(context), Signal::INT),
                        (hangup.poll_recv(context), Signal::HUP),
                    ];
                    let told = heard.into_iter().find(|(heard, _)| heard.is_ready());
                    told.map_or(std::task::Poll::Pending, |(_, told)| std::task::Poll::Ready(told))
                });
                events.send(Event::Told(told.await)).ok()?;
            }
        })
    });
}

/// From the first sign of an end to the end; the exit code.
fn last(session: &Arc<Session>, events: &Receiver<Event>, group: Pid) -> u8 {
    let mut deadline: Option<Instant> = None;
    let mut hard = false;
    let mut over: Option<Option<ExitStatus>> = None;
    let mut silent = false;
    loop {
        if let (Some(status), true) = (over, silent) {
            return code(status);
        }
        let pause =
            deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        let event = match pause {
            Duration::MAX => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            pause => events.recv_timeout(pause),
        };
        let soon = Some(Instant::now() + GRACE);
        match event {
            Ok(Event::ClientEnded) => {
                hang_up(session);
                deadline = deadline.or(soon);
            }
            Ok(Event::ServerEnded) => {
                silent = true;
                session.server_ended();
                deadline = deadline.or(soon);
            }
            Ok(Event::Exited(status)) => {
                over = Some(status);
                // What it said before is still on its way; a grandchild may keep the pipe open.
                deadline = soon;
            }
            Ok(Event::Told(signal)) => {
                let _ = kill_process_group(group, signal);
                hang_up(session);
                deadline = deadline.or(soon);
                // The next step is the last one: whoever sends signals is in a hurry.
                hard = true;
            }
            Err(RecvTimeoutError::Timeout) if over.is_some() => {
                session.server_ended();
                let _ = kill_process_group(group, Signal::TERM);
                silent = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                let signal = if hard { Signal::KILL } else { Signal::TERM };
                let _ = kill_process_group(group, signal);
                hard = true;
                deadline = soon;
            }
            Err(RecvTimeoutError::Disconnected) => return 1,
        }
    }
}

/// Nothing waits for the client any more, and the server hears that it is gone. On a thread of
/// its own: a server that does not read must not keep us.
fn hang_up(session: &Arc<Session>) {
    let session = Arc::clone(session);
    thread::spawn(move || {
        session.client_ended();
        session.hang_up();
    });
}

fn code(status: Option<ExitStatus>) -> u8 {
    let code = status.and_then(|status| status.code().or_else(|| Some(128 + status.signal()?)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn from_client(session: &Arc<Session>) {
    let mut lines = Lines::new(BufReader::with_capacity(ROOM, io::stdin()), LONGEST);
    let mut line = Vec::new();
    loop {
        match lines.next(&mut line) {
            Ok(lines::Read::Line) => session.client_says(&line),
            // Nobody has judged it as a whole.
            Ok(lines::Read::Piece) => {}
            Ok(lines::Read::LastPiece) => session.too_long(),
            Ok(lines::Read::End) | Err(_) => return,
        }
        shrink(&mut line);
    }
}

fn from_server(session: &Session, server: impl Read) {
    let mut lines = Lines::new(BufReader::with_capacity(ROOM, server), LONGEST);
    let mut line = Vec::new();
    loop {
        match lines.next(&mut line) {
            Ok(lines::Read::Line) => session.server_says(&line),
            Ok(lines::Read::Piece) => {
                let mut out = lock(session.client_pipe());
                put(&mut out, &line, false);
                if !rest(&mut lines, &mut line, &mut out) {
                    return;
                }
            }
            Ok(lines::Read::LastPiece) => put(&mut lock(session.client_pipe()), &line, false),
            Ok(lines::Read::End) | Err(_) => return,
        }
        shrink(&mut line);
    }
}

/// The rest of a very long line, without another one in between. Whether there is more after it.
fn rest(
    lines: &mut Lines<impl io::BufRead>,
    line: &mut Vec<u8>,
    out: &mut Option<Box<dyn Write + Send>>,
) -> bool {
    loop {
        match lines.next(line) {
            Ok(lines::Read::Piece) => put(out, line, false),
            Ok(lines::Read::Line | lines::Read::LastPiece) => {
                put(out, line, false);
                return true;
            }
            Ok(lines::Read::End) | Err(_) => return false,
        }
    }
}

/// One long line must not keep its room for ever.
fn shrink(line: &mut Vec<u8>) {
    if line.capacity() > 1 << 20 {
        *line = Vec::new();
    }
}
