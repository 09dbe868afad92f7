//! Reads the input of a hook completely, up to a size limit and in time.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::agents::HookAnswer;

/// The longest input.
pub const MAX_INPUT: usize = 16 << 20;
/// The size of one read.
const CHUNK: usize = 16 << 10;

/// Why the input cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum InputError {
    /// The input did not end in time.
    Late,
    /// The input is longer than the limit.
    TooLong,
    /// The input could not be read or is not valid.
    Invalid(String),
}

impl InputError {
    /// The denial for this error.
    pub fn denial(&self) -> HookAnswer {
        let why = match self {
            InputError::Late => return too_late(),
            InputError::TooLong => "the hook's input is longer than 16 MiB",
            InputError::Invalid(why) => why,
        };
        HookAnswer::Denied(format!("Countersign: {why}; the call was not run."))
    }
}

/// The denial if there was no decision in time.
pub fn too_late() -> HookAnswer {
    HookAnswer::Denied("Countersign: no answer came in time, so this call was not run.".to_owned())
}

/// Reads to the end of the input, which has to come in time.
pub fn read(from: impl AsFd, end: Instant) -> Result<Vec<u8>, InputError> {
    let (mut bytes, mut chunk) = (Vec::with_capacity(CHUNK), [0; CHUNK]);
    loop {
        wait(&from, end)?;
        let count = match rustix::io::read(&from, &mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(error) => return Err(read_error(error)),
        };
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if bytes.len() > MAX_INPUT {
            return Err(InputError::TooLong);
        }
    }
}

/// Waits until the input can be read.
fn wait(from: &impl AsFd, end: Instant) -> Result<(), InputError> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(InputError::Late);
        }
        let mut polled = [PollFd::new(from, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(read_error(error)),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    let tv_sec = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: time.subsec_nanos().into() }
}

fn read_error(error: Errno) -> InputError {
    InputError::Invalid(format!("the hook's input could not be read: {}", io::Error::from(error)))
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
    fn chunks_are_joined_and_an_input_without_end_times_out() {
        let (here, mut there) = io::pipe().unwrap();
        let unread = here.try_clone().unwrap();
        let speaks = thread::spawn(move || {
            for chunk in ["{\"a\"", ":1", "}"] {
                there.write_all(chunk.as_bytes()).unwrap();
                while rustix::io::ioctl_fionread(&unread).unwrap() > 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        assert_eq!(read(&here, Instant::now() + Duration::from_mins(1)).unwrap(), b"{\"a\":1}");
        speaks.join().unwrap();
        let (here, mut there) = io::pipe().unwrap();
        there.write_all(b"{}").unwrap();
        assert_eq!(read(&here, soon()), Err(InputError::Late));
        drop(there);
        assert_eq!(read(&here, Instant::now()), Err(InputError::Late));
    }

    #[test]
    fn endless_and_unreadable_input_is_an_error() {
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let result = read(&zeros, Instant::now() + Duration::from_mins(1));
        assert_eq!(result, Err(InputError::TooLong));
        let folder = std::fs::File::open("/").unwrap();
        assert!(matches!(read(&folder, soon()), Err(InputError::Invalid(_))));
    }
}
