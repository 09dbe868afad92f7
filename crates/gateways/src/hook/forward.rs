//! Passes the agent's input to the next program as its standard input.
//!
//! The small hook replaces itself with `countersign`, so no process is left to write into a pipe:
//! the bytes must be complete before the next program starts. Calls may contain secrets, so they
//! stay in memory if the system allows it.

use std::io;
use std::path::Path;
use std::process::Stdio;

/// The bytes as a standard input that can be read to its end. `private` is a folder of this user,
/// used only where the bytes do not fit into memory that the system lends.
#[cfg(target_os = "linux")]
pub fn as_stdin(bytes: &[u8], _private: &Path) -> io::Result<Stdio> {
    use std::io::{Seek as _, Write as _};

    use rustix::fs::{MemfdFlags, memfd_create};

    let mut memory = std::fs::File::from(memfd_create(c"call", MemfdFlags::CLOEXEC)?);
    memory.write_all(bytes)?;
    memory.rewind()?;
    Ok(memory.into())
}

/// The bytes as a standard input that can be read to its end. `private` is a folder of this user,
/// used only where the bytes do not fit into memory that the system lends.
#[cfg(not(target_os = "linux"))]
pub fn as_stdin(bytes: &[u8], private: &Path) -> io::Result<Stdio> {
    portable::as_stdin(bytes, private)
}

/// For systems without `memfd_create`, such as macOS. Compiled in tests everywhere.
#[cfg(any(not(target_os = "linux"), test))]
mod portable {
    use std::fs::{self, DirBuilder, File};
    use std::io::{self, PipeReader, Seek as _, Write as _};
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    use std::path::Path;
    use std::process::Stdio;

    use rustix::fs::{OFlags, fcntl_setfl};

    pub fn as_stdin(bytes: &[u8], private: &Path) -> io::Result<Stdio> {
        match pipe(bytes)? {
            Some(reader) => Ok(reader.into()),
            None => Ok(unlinked_file(bytes, private)?.into()),
        }
    }

    /// A pipe that holds all bytes; nothing where its buffer is too small for them.
    pub fn pipe(bytes: &[u8]) -> io::Result<Option<PipeReader>> {
        let (reader, mut writer) = io::pipe()?;
        // Without this a write beyond the buffer would wait for a reader that never starts.
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        match writer.write_all(bytes) {
            Ok(()) => Ok(Some(reader)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A file that only this user may read, and that has no name once this returns.
    pub fn unlinked_file(bytes: &[u8], private: &Path) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(private)?;
        let path = private.join(format!("call-{}", std::process::id()));
        // A file left over by a process of the same number that was killed.
        let _ = fs::remove_file(&path);
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut file = options.open(&path)?;
        fs::remove_file(&path)?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::Command;

    use super::*;

    /// Sizes below, at and above what pipes hold on Linux and macOS.
    const SIZES: [usize; 7] = [0, 1, 16 << 10, 64 << 10, (64 << 10) + 1, 1 << 20, 4 << 20];

    fn bytes(size: usize) -> Vec<u8> {
        (0_u8..=250).cycle().take(size).collect()
    }

    #[test]
    fn another_program_reads_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for size in SIZES {
            let bytes = bytes(size);
            for stdin in [as_stdin, portable::as_stdin] {
                let stdin = stdin(&bytes, folder.path()).unwrap();
                let out = Command::new("cat").stdin(stdin).output().unwrap();
                assert_eq!(out.stdout, bytes, "{size} bytes");
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a file is left");
    }

    #[test]
    fn a_small_call_touches_no_disk() {
        let nowhere = Path::new("/dev/null/folder");
        assert!(portable::as_stdin(&bytes(4 << 10), nowhere).is_ok());
        assert!(portable::as_stdin(&bytes(4 << 20), nowhere).is_err());
        let mut read = Vec::new();
        portable::pipe(b"{}").unwrap().unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, b"{}");
        assert!(portable::pipe(&bytes(4 << 20)).unwrap().is_none());
    }

    #[test]
    fn a_file_of_that_name_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        let name = folder.path().join(format!("call-{}", std::process::id()));
        std::os::unix::fs::symlink(&victim, name).unwrap();
        portable::unlinked_file(b"secret", folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "kept");
    }
}
