//! The terminal: reads keys, draws frames, and restores the terminal at the end.

use std::io::{self, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{Error, PeopleClient};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::{DefaultTerminal, Terminal};
use tokio::signal::unix::{SignalKind, signal};

use super::draw::draw;
use super::event::{InboxEffect, InboxEvent, InputKey, UiTime};
use super::state::Inbox;
use super::style::Palette;
use super::threads::{DaemonThreads, UiMessage};
use crate::failure::Failure;
use crate::gate::now::now;
use crate::terminal::Paint;

/// How often relative times are redrawn.
const TICK: Duration = Duration::from_millis(250);
/// How many events are handled before the next frame.
const MOST_AT_ONCE: usize = 500;

/// The terminal is in raw mode and must be restored.
static OURS: AtomicBool = AtomicBool::new(false);
/// A thread panicked: the screen can no longer be trusted.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Runs the inbox until the person quits.
pub fn run(people: &PeopleClient) -> Result<ExitCode, Failure> {
    // A daemon that does not respond is retried; missing permission is an error.
    match people.me() {
        Ok(_) | Err(Error::Unreachable { .. } | Error::Unavailable { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let (send, told) = channel();
    listen_for_signals(send.clone())?;
    let mut screen = Screen::open()?;
    let keys = send.clone();
    thread::spawn(move || read_keys(&keys));
    let wires = DaemonThreads::open(people, &send);
    let ended = screen.follow(&wires, &told);
    drop(screen);
    ended.map(|()| ExitCode::SUCCESS)
}

/// The terminal in raw mode.
struct Screen {
    terminal: DefaultTerminal,
    look: Palette,
    start: Instant,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        let look = Palette { colour: Paint::of(&stdout()) == Paint::Colour };
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            BROKEN.store(true, Ordering::SeqCst);
            put_back();
            before(info);
        }));
        OURS.store(true, Ordering::SeqCst);
        let taken = take_over().and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        let terminal = taken.inspect_err(|_| put_back())?;
        Ok(Screen { terminal, look, start: Instant::now() })
    }

    fn moment(&self) -> UiTime {
        let steady = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        UiTime { wall: now(), steady }
    }

    fn follow(&mut self, wires: &DaemonThreads, told: &Receiver<UiMessage>) -> Result<(), Failure> {
        let mut inbox = Inbox::new(self.moment());
        loop {
            if BROKEN.load(Ordering::SeqCst) {
                let why = "internal error; unanswered requests stay pending";
                return Err(Failure::Input(why.to_owned()));
            }
            self.picture(&mut inbox, wires)?;
            let first = match told.recv_timeout(TICK) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => UiMessage::Event(InboxEvent::Tick),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for one in std::iter::once(first).chain(told.try_iter()).take(MOST_AT_ONCE) {
                let event = match one {
                    UiMessage::Event(event) => Some(event),
                    UiMessage::Input(input) => understood(input),
                    UiMessage::Stop => return Ok(()),
                    UiMessage::Over(why) => return Err(Failure::Input(why)),
                };
                let Some(event) = event else { continue };
                for effect in inbox.apply(event, self.moment()) {
                    if effect == InboxEffect::Leave {
                        return Ok(());
                    }
                    wires.carry(effect);
                }
            }
            for effect in inbox.apply(InboxEvent::Tick, self.moment()) {
                wires.carry(effect);
            }
        }
    }

    /// Draws; a second time if the first showed that something does not fit.
    fn picture(&mut self, inbox: &mut Inbox, wires: &DaemonThreads) -> Result<(), Failure> {
        for _ in 0..2 {
            let mut drawn = None;
            let look = self.look;
            self.terminal.draw(|frame| drawn = Some(draw(frame, inbox, look)))?;
            let top = inbox.list.top();
            if let Some(drawn) = drawn {
                for effect in inbox.apply(InboxEvent::Drawn(drawn), self.moment()) {
                    wires.carry(effect);
                }
            }
            if inbox.list.top() == top {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put_back();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Restores the terminal, once. A failure cannot be reported.
fn put_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn read_keys(told: &Sender<UiMessage>) {
    loop {
        // A closed terminal ends the inbox.
        let next = event::read().map_or(UiMessage::Stop, UiMessage::Input);
        let over = matches!(next, UiMessage::Stop);
        if told.send(next).is_err() || over {
            return;
        }
    }
}

fn understood(input: event::Event) -> Option<InboxEvent> {
    match input {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            key_of(key).map(InboxEvent::Key)
        }
        event::Event::Paste(text) => Some(InboxEvent::Pasted(text)),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<InputKey> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let other = KeyModifiers::ALT | KeyModifiers::META | KeyModifiers::SUPER;
    Some(match key.code {
        KeyCode::Char('c' | 'C') if control => InputKey::Interrupt,
        KeyCode::Char('u') if control => InputKey::Clear,
        KeyCode::Char('f') if control => InputKey::PageDown,
        KeyCode::Char('b') if control => InputKey::PageUp,
        KeyCode::Char(_) if control || key.modifiers.intersects(other) => return None,
        KeyCode::Char(letter) => InputKey::Char(letter),
        KeyCode::Enter => InputKey::Enter,
        KeyCode::Esc => InputKey::Escape,
        KeyCode::Backspace => InputKey::Backspace,
        KeyCode::Up => InputKey::Up,
        KeyCode::Down => InputKey::Down,
        KeyCode::Left => InputKey::Left,
        KeyCode::Right => InputKey::Right,
        KeyCode::PageUp => InputKey::PageUp,
        KeyCode::PageDown => InputKey::PageDown,
        KeyCode::Home => InputKey::Home,
        KeyCode::End => InputKey::End,
        _ => return None,
    })
}

/// Restores the terminal on a signal.
fn listen_for_signals(told: Sender<UiMessage>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listening = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    drop(listening);
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        let _ = told.send(UiMessage::Stop);
    });
    Ok(())
}
