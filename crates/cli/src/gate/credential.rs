//! A person's credential: a token from the environment or a file, or the passphrase.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use countersign_client::PeopleClient;
use countersign_daemon::config::paths::EnvironmentVariables as _;

use super::args::PersonArgs;
use super::reach::{self, ProcessEnvironment};
use super::saved_login;
use crate::failure::Failure;

/// The longest line that is read.
const LONGEST: usize = 2000;

/// The longest passphrase file.
const LONGEST_FILE: u64 = 4096;

/// A logged-in person, for the duration of one command.
pub struct PersonSession {
    people: PeopleClient,
    /// Whether the login was made for this command, and ends with it.
    ours: bool,
}

impl PersonSession {
    /// With an existing token, with the saved login, or by passphrase.
    pub fn open(person: &PersonArgs) -> Result<PersonSession, Failure> {
        let endpoint = reach::people_endpoint(person.people.as_deref())?;
        let token = match &person.token_file {
            Some(file) => Some(reach::secret_file(file)?),
            None => ProcessEnvironment.get("COUNTERSIGN_TOKEN"),
        };
        if let Some(token) = token {
            return Ok(PersonSession { people: PeopleClient::new(endpoint, token), ours: false });
        }
        if person.passphrase_file.is_none()
            && let Some(people) = saved_login::client(&endpoint, person.whose.as_deref())
        {
            return Ok(PersonSession { people, ours: false });
        }
        let (login, passphrase) = login_with(person)?;
        let people = PeopleClient::new(endpoint, login.token).confirmed_with(&passphrase);
        Ok(PersonSession { people, ours: true })
    }

    /// The same for a command that changes people, agents, grants or links: a token alone is not
    /// enough, so the passphrase is required.
    pub fn open_to_change(person: &PersonArgs) -> Result<PersonSession, Failure> {
        let mut session = PersonSession::open(person)?;
        if !session.people.is_confirmed() {
            let question = "Your passphrase (to confirm this change): ";
            let passphrase = passphrase(person, question)?;
            session.people = session.people.clone().confirmed_with(&passphrase);
        }
        Ok(session)
    }
}

/// A passphrase from the given file, or typed in the terminal.
fn passphrase(person: &PersonArgs, question: &str) -> Result<String, Failure> {
    if let Some(name) = &person.passphrase_file {
        return passphrase_file(name);
    }
    PromptTerminal::open().map_err(|_| {
        Failure::Input(
            "your passphrase is required; run this in a terminal, or name a file with \
             --passphrase-file (`-` reads standard input)"
                .to_owned(),
        )
    })?;
    Ok(PromptTerminal::secret(question)?.trim().to_owned())
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
            return Err(Failure::at(name, "other users can read this file; run chmod 600"));
        }
        file.take(LONGEST_FILE).read_to_string(&mut text).map_err(failed)?;
    }
    match text.trim() {
        "" => Err(Failure::at(name, "the file contains no passphrase")),
        text => Ok(text.to_owned()),
    }
}

impl std::ops::Deref for PersonSession {
    type Target = PeopleClient;

    fn deref(&self) -> &PeopleClient {
        &self.people
    }
}

impl Drop for PersonSession {
    fn drop(&mut self) {
        if self.ours {
            // It expires by itself if the daemon is not reached.
            let _ = self.people.logout();
        }
    }
}

/// Logs in with a passphrase.
pub fn login(person: &PersonArgs) -> Result<countersign_client::LoginToken, Failure> {
    login_with(person).map(|(login, _)| login)
}

fn login_with(person: &PersonArgs) -> Result<(countersign_client::LoginToken, String), Failure> {
    let endpoint = reach::people_endpoint(person.people.as_deref())?;
    if person.passphrase_file.is_some() {
        let passphrase = passphrase(person, "")?;
        return Ok((PeopleClient::login(&endpoint, person.name(), &passphrase)?, passphrase));
    }
    PromptTerminal::open().map_err(|_| {
        Failure::Input(
            "authentication required; run this in a terminal, or set COUNTERSIGN_TOKEN or --token-file"
                .to_owned(),
        )
    })?;
    let name = crate::engine::sanitize(person.name(), 64);
    let passphrase = PromptTerminal::secret(&format!("Passphrase of {name} for {endpoint}: "))?;
    let passphrase = passphrase.trim().to_owned();
    Ok((PeopleClient::login(&endpoint, person.name(), &passphrase)?, passphrase))
}

/// A recovery code, from the given file or typed in the terminal.
pub fn recovery_code(person: &PersonArgs) -> Result<String, Failure> {
    passphrase(person, "Recovery code: ")
}

/// The person's terminal, independent of standard input and output.
pub struct PromptTerminal {
    file: File,
}

impl PromptTerminal {
    /// Opens the controlling terminal.
    pub fn open() -> io::Result<PromptTerminal> {
        Ok(PromptTerminal { file: OpenOptions::new().read(true).write(true).open("/dev/tty")? })
    }

    /// Prompts and reads one line.
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

    /// Prompts for yes or no. Enter alone is no.
    pub fn agrees(&mut self, question: &str) -> io::Result<bool> {
        let answer = match self.line(&format!("{question} [y/N] ")) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => String::new(),
            Err(error) => return Err(error),
        };
        Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
    }

    /// Prompts for a secret and reads it without echo.
    pub fn secret(question: &str) -> io::Result<String> {
        rpassword::prompt_password(question)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.file.read(&mut byte)? == 1).then_some(byte.first().copied().unwrap_or_default()))
    }
}
