//! A person's credential: a token from the environment or a file, or the passphrase, typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use countersign_client::People;
use countersign_daemon::config::paths::EnvironmentVariables as _;

use super::args::Person;
use super::reach::{self, ProcessEnvironment};
use crate::failure::Failure;

/// Longest line that is typed.
const LONGEST: usize = 2000;

/// The longest passphrase file.
const LONGEST_FILE: u64 = 4096;

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
            None => ProcessEnvironment.get("COUNTERSIGN_TOKEN"),
        };
        if let Some(token) = token {
            return Ok(Session { people: People::new(door, token), ours: false });
        }
        let (login, passphrase) = login_with(person)?;
        let people = People::new(door, login.token).confirmed_with(&passphrase);
        Ok(Session { people, ours: true })
    }

    /// The same for a command that changes people, agents, grants or links: a token alone is not
    /// enough for that, so the passphrase is asked for.
    pub fn open_to_change(person: &Person) -> Result<Session, Failure> {
        let mut session = Session::open(person)?;
        if !session.people.is_confirmed() {
            let question = "Your passphrase, to confirm this change: ";
            let passphrase = passphrase(person, question)?;
            session.people = session.people.clone().confirmed_with(&passphrase);
        }
        Ok(session)
    }
}

/// A passphrase from the file that was named, or typed on the terminal.
fn passphrase(person: &Person, question: &str) -> Result<String, Failure> {
    if let Some(name) = &person.passphrase_file {
        return passphrase_file(name);
    }
    Terminal::open().map_err(|_| {
        Failure::Input(
            "this needs your passphrase: run it in a terminal, or name a file with \
             --passphrase-file (`-` reads standard input)"
                .to_owned(),
        )
    })?;
    Ok(Terminal::secret(question)?.trim().to_owned())
}

fn passphrase_file(name: &str) -> Result<String, Failure> {
    let failed = |error| Failure::at(name, error);
    let mut text = String::new();
    if name == "-" {
        io::stdin().take(LONGEST_FILE).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = File::open(name).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Failure::at(name, "others can read this passphrase: chmod 600 it"));
        }
        file.take(LONGEST_FILE).read_to_string(&mut text).map_err(failed)?;
    }
    match text.trim() {
        "" => Err(Failure::at(name, "there is no passphrase in it")),
        text => Ok(text.to_owned()),
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

/// Logs in with a passphrase.
pub fn login(person: &Person) -> Result<countersign_client::Login, Failure> {
    login_with(person).map(|(login, _)| login)
}

fn login_with(person: &Person) -> Result<(countersign_client::Login, String), Failure> {
    let door = reach::people_door(person.people.as_deref())?;
    if person.passphrase_file.is_some() {
        let passphrase = passphrase(person, "")?;
        return Ok((People::login(&door, &person.whose, &passphrase)?, passphrase));
    }
    Terminal::open().map_err(|_| {
        Failure::Input(
            "this needs a person: run it in a terminal, or set COUNTERSIGN_TOKEN or --token-file \
             (see `countersign login --help`)"
                .to_owned(),
        )
    })?;
    let name = crate::core_api::show(&person.whose, 64);
    let passphrase = Terminal::secret(&format!("Passphrase of {name} for {door}: "))?;
    let passphrase = passphrase.trim().to_owned();
    Ok((People::login(&door, &person.whose, &passphrase)?, passphrase))
}

/// A recovery code, from the file that was named or typed on the terminal.
pub fn recovery_code(person: &Person) -> Result<String, Failure> {
    passphrase(person, "Recovery code: ")
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
    pub fn secret(question: &str) -> io::Result<String> {
        rpassword::prompt_password(question)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.file.read(&mut byte)? == 1).then_some(byte.first().copied().unwrap_or_default()))
    }
}
