//! The terminal: keys in, pictures out, and everything put back at the end.

use std::io::{self, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{Error, People};
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
use super::event::{Effect, Event, Key, Moment};
use super::look::Look;
use super::state::Inbox;
use super::wires::{Told, Wires};
use crate::failure::Failure;
use crate::gate::now::now;
use crate::terminal::Paint;

/// Time is drawn so often.
const TICK: Duration = Duration::from_millis(250);
/// So many things are taken in before the next picture.
const MOST_AT_ONCE: usize = 500;

/// The terminal is ours, and has to be put back.
static OURS: AtomicBool = AtomicBool::new(false);
/// Some thread has panicked: what is on the screen can no longer be believed.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Runs the inbox until the person leaves.
pub fn run(people: &People) -> Result<ExitCode, Failure> {
    // A daemon that is away is waited for; whoever may not look is told so at once.
    match people.me() {
        Ok(_) | Err(Error::Unreachable { .. } | Error::Unavailable { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let (send, told) = channel();
    listen_for_signals(send.clone())?;
    let mut screen = Screen::open()?;
    let keys = send.clone();
    thread::spawn(move || read_keys(&keys));
    let wires = Wires::open(people, &send);
    let ended = screen.follow(&wires, &told);
    drop(screen);
    ended.map(|()| ExitCode::SUCCESS)
}

/// The terminal while it is ours.
struct Screen {
    terminal: DefaultTerminal,
    look: Look,
    start: Instant,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        let look = Look { colour: Paint::of(&stdout()) == Paint::Colour };
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

    fn moment(&self) -> Moment {
        let steady = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { wall: now(), steady }
    }

    fn follow(&mut self, wires: &Wires, told: &Receiver<Told>) -> Result<(), Failure> {
        let mut inbox = Inbox::new(self.moment());
        loop {
            if BROKEN.load(Ordering::SeqCst) {
                let why = "something broke in here; what was not answered waits on";
                return Err(Failure::Input(why.to_owned()));
            }
            self.picture(&mut inbox, wires)?;
            let first = match told.recv_timeout(TICK) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => Told::Event(Event::Tick),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for one in std::iter::once(first).chain(told.try_iter()).take(MOST_AT_ONCE) {
                let event = match one {
                    Told::Event(event) => Some(event),
                    Told::Input(input) => understood(input),
                    Told::Stop => return Ok(()),
                    Told::Over(why) => return Err(Failure::Input(why)),
                };
                let Some(event) = event else { continue };
                for effect in inbox.apply(event, self.moment()) {
                    if effect == Effect::Leave {
                        return Ok(());
                    }
                    wires.carry(effect);
                }
            }
            for effect in inbox.apply(Event::Tick, self.moment()) {
                wires.carry(effect);
            }
        }
    }

    /// Draws; a second time if the first showed that something does not fit.
    fn picture(&mut self, inbox: &mut Inbox, wires: &Wires) -> Result<(), Failure> {
        for _ in 0..2 {
            let mut drawn = None;
            let look = self.look;
            self.terminal.draw(|frame| drawn = Some(draw(frame, inbox, look)))?;
            let top = inbox.list.top();
            if let Some(drawn) = drawn {
                for effect in inbox.apply(Event::Drawn(drawn), self.moment()) {
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

/// The terminal as it was, once. Nobody is left to tell if that fails.
fn put_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn read_keys(told: &Sender<Told>) {
    loop {
        // A terminal that is gone is as good as a goodbye.
        let next = event::read().map_or(Told::Stop, Told::Input);
        let over = matches!(next, Told::Stop);
        if told.send(next).is_err() || over {
            return;
        }
    }
}

fn understood(input: event::Event) -> Option<Event> {
    match input {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key).map(Event::Key),
        event::Event::Paste(text) => Some(Event::Pasted(text)),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let other = KeyModifiers::ALT | KeyModifiers::META | KeyModifiers::SUPER;
    Some(match key.code {
        KeyCode::Char('c' | 'C') if control => Key::Interrupt,
        KeyCode::Char('u') if control => Key::Clear,
        KeyCode::Char('f') if control => Key::PageDown,
        KeyCode::Char('b') if control => Key::PageUp,
        KeyCode::Char(_) if control || key.modifiers.intersects(other) => return None,
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// Whoever is told to end puts the terminal back first.
fn listen_for_signals(told: Sender<Told>) -> io::Result<()> {
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
        let _ = told.send(Told::Stop);
    });
    Ok(())
}
