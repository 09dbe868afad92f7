//! A person's credential: a token from the environment or a file, or the passphrase, typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use countersign_client::People;
use countersign_daemon::config::paths::Variables as _;

use super::args::Person;
use super::reach::{self, Surroundings};
use crate::failure::Failure;

/// Longest line that is typed.
const LONGEST: usize = 2000;

/// A person who may answer, for as long as one command runs.
pub struct Session {
    people: People,
    /// Whether the login was made for this command, and ends with it.
    ours: bool,
}

impl Session {
    /// With the token that is there, or by passphrase.
    pub fn open(person: &Person) -> Result<Session, Failure> {
        let door = reach::people_door(person.people.as_deref())?;
        let token = match &person.token_file {
            Some(file) => Some(reach::secret_file(file)?),
            None => Surroundings.get("COUNTERSIGN_TOKEN"),
        };
        if let Some(token) = token {
            return Ok(Session { people: People::new(door, token), ours: false });
        }
        let login = login(person)?;
        Ok(Session { people: People::new(door, login.token), ours: true })
    }
}

impl std::ops::Deref for Session {
    type Target = People;

    fn deref(&self) -> &People {
        &self.people
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.ours {
            // It ends by itself after some hours if the daemon does not hear us.
            let _ = self.people.logout();
        }
    }
}

/// Logs in with a passphrase from the terminal.
pub fn login(person: &Person) -> Result<countersign_client::Login, Failure> {
    let door = reach::people_door(person.people.as_deref())?;
    let mut terminal = Terminal::open().map_err(|_| {
        Failure::Input(
            "this needs a person: run it in a terminal, or set COUNTERSIGN_TOKEN or --token-file \
             (see `countersign login --help`)"
                .to_owned(),
        )
    })?;
    let name = crate::core_api::show(&person.whose, 64);
    let passphrase = terminal.secret(&format!("Passphrase of {name} for {door}: "))?;
    Ok(People::login(&door, &person.whose, passphrase.trim())?)
}

/// The person's own terminal, whatever standard input and output are.
pub struct Terminal {
    file: File,
}

impl Terminal {
    /// The terminal that controls this process.
    pub fn open() -> io::Result<Terminal> {
        Ok(Terminal { file: OpenOptions::new().read(true).write(true).open("/dev/tty")? })
    }

    /// Asks, and reads one line.
    pub fn line(&mut self, question: &str) -> io::Result<String> {
        self.file.write_all(question.as_bytes())?;
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                None if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                None | Some(b'\n') => break,
                Some(byte) if line.len() < LONGEST => line.push(byte),
                Some(_) => {}
            }
        }
        String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Asks for yes or no. Only a typed yes is one; a bare Enter is no.
    pub fn agrees(&mut self, question: &str) -> io::Result<bool> {
        let answer = match self.line(&format!("{question} [y/N] ")) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => String::new(),
            Err(error) => return Err(error),
        };
        Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
    }

    /// Asks for a secret and reads it from the terminal without echo.
    pub fn secret(&mut self, question: &str) -> io::Result<String> {
        rpassword::prompt_password(question)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.file.read(&mut byte)? == 1).then_some(byte.first().copied().unwrap_or_default()))
    }
}
