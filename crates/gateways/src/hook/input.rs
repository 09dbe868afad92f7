//! What a host says to its hook: read whole, or not at all, and never waited for too long.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::agents::Answer;

/// The longest thing that a host may say.
pub const LONGEST: usize = 16 << 20;
/// What is read at once.
const PIECE: usize = 16 << 10;

/// Why there is nothing to answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// The host did not come to an end.
    Late,
    /// It said too much.
    TooLong,
    /// Something else.
    Other(String),
}

impl Unread {
    /// The no that the host gets for it.
    pub fn no(&self) -> Answer {
        let why = match self {
            Unread::Late => return late(),
            Unread::TooLong => "the hook's input is too long",
            Unread::Other(why) => why,
        };
        Answer::Denied(format!("Countersign: {why}; the call was not run."))
    }
}

/// Nothing came in time.
pub fn late() -> Answer {
    Answer::Denied("Countersign: no answer came in time, so this call was not run.".to_owned())
}

/// Reads to the end, which has to come in time.
pub fn read(from: impl AsFd, end: Instant) -> Result<Vec<u8>, Unread> {
    let (mut bytes, mut piece) = (Vec::with_capacity(PIECE), [0; PIECE]);
    loop {
        wait(&from, end)?;
        let count = match rustix::io::read(&from, &mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(error) => return Err(broken(error)),
        };
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if bytes.len() > LONGEST {
            return Err(Unread::TooLong);
        }
    }
}

/// Waits until something can be read.
fn wait(from: &impl AsFd, end: Instant) -> Result<(), Unread> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unread::Late);
        }
        let mut looked = [PollFd::new(from, PollFlags::IN)];
        match poll(&mut looked, Some(&timespec(left))) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(broken(error)),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    let tv_sec = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: time.subsec_nanos().into() }
}

fn broken(error: Errno) -> Unread {
    Unread::Other(format!("the hook's input could not be read: {}", io::Error::from(error)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(300)
    }

    #[test]
    fn pieces_are_put_together_and_an_end_that_does_not_come_is_not_waited_for() {
        let (here, mut there) = io::pipe().unwrap();
        let speaks = thread::spawn(move || {
            for piece in ["{\"a\"", ":1", "}"] {
                there.write_all(piece.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(10));
            }
        });
        assert_eq!(read(&here, Instant::now() + Duration::from_mins(1)).unwrap(), b"{\"a\":1}");
        speaks.join().unwrap();
        let (here, mut there) = io::pipe().unwrap();
        there.write_all(b"{}").unwrap();
        assert_eq!(read(&here, soon()), Err(Unread::Late));
        drop(there);
        assert_eq!(read(&here, Instant::now()), Err(Unread::Late));
    }

    #[test]
    fn endless_and_unreadable_input_is_refused() {
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let unread = read(&zeros, Instant::now() + Duration::from_mins(1));
        assert_eq!(unread, Err(Unread::TooLong));
        let folder = std::fs::File::open("/").unwrap();
        assert!(matches!(read(&folder, soon()), Err(Unread::Other(_))));
    }
}
