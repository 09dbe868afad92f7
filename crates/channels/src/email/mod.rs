//! E-mail: a letter about each request, in one thread. Its link leads to the inbox and decides
//! nothing: mail programs open links by themselves.

mod letter;
mod smtp;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use countersign_core::tier::Tier;

use crate::post::{Target, connect, secured};
use crate::secret::Token;
use crate::{Announcement, Channel, ChannelError, Receipt, Sending};
use letter::Letter;
use smtp::{Envelope, Session};

/// The most people who get a letter.
const MOST_PEOPLE: usize = 20;

/// What an operator sets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The mail server.
    pub server: String,
    /// Its port.
    pub port: u16,
    /// How the connection is kept secret.
    pub tls: Tls,
    /// The user, where the server wants one, and the file of the password.
    pub login: Option<(String, PathBuf)>,
    /// Who writes.
    pub from: String,
    /// Who is written to.
    pub to: Vec<String>,
    /// Whether private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// How the connection is kept secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// From the first byte.
    Implicit,
    /// Asked for in the open, then demanded.
    Starttls,
    /// Not at all: to this machine only.
    None,
}

impl Tls {
    /// Reads the word.
    pub fn parse(text: &str) -> Option<Tls> {
        match text {
            "implicit" => Some(Tls::Implicit),
            "starttls" => Some(Tls::Starttls),
            "none" => Some(Tls::None),
            _ => None,
        }
    }

    /// The port where servers usually listen for it.
    pub const fn port(self) -> u16 {
        match self {
            Tls::Implicit => 465,
            Tls::Starttls => 587,
            Tls::None => 25,
        }
    }
}

impl Settings {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        if let Err(problem) = self.target() {
            return Some(format!("server: {problem}"));
        }
        let here = self.server == "localhost"
            || self.server.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        if self.tls == Tls::None && !here {
            return Some("tls: \"none\" is only for a server on this machine".to_owned());
        }
        if self.to.is_empty() || self.to.len() > MOST_PEOPLE {
            return Some(format!("to: it is a list of 1 to {MOST_PEOPLE} addresses"));
        }
        if let Some(bad) = self.to.iter().chain([&self.from]).find(|text| !is_address(text)) {
            return Some(format!("{bad:?} is no plain address such as ana@example.org"));
        }
        let plain =
            |(user, _): &(String, PathBuf)| user.bytes().all(|byte| byte.is_ascii_graphic());
        let good = self.login.as_ref().is_none_or(plain);
        (!good).then(|| "user: it has only plain letters, digits and signs".to_owned())
    }

    fn target(&self) -> Result<Target, &'static str> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
        if self.server.is_empty() || !self.server.bytes().all(plain) {
            return Err("it is a name or an address, without anything else");
        }
        let host = if self.server.contains(':') {
            format!("[{}]", self.server)
        } else {
            self.server.clone()
        };
        Target::parse(&format!("https://{host}:{}", self.port))
    }
}

/// Whether this is an address that can stand in a header and in a command as it is.
fn is_address(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    (1..=64).contains(&name.len())
        && (1..=255).contains(&host.len())
        && name.bytes().all(sign)
        && host.bytes().all(letter)
}

/// A mail server and who is written to.
#[derive(Debug)]
pub struct Email {
    name: String,
    most: Tier,
    server: Target,
    tls: Tls,
    login: Option<(String, Token)>,
    from: String,
    to: Vec<String>,
    allow_private: bool,
    timeout: Duration,
}

impl Email {
    /// Reads the password.
    pub fn open(name: String, most: Tier, settings: &Settings) -> Result<Email, ChannelError> {
        let login = settings.login.as_ref().map(|(user, file)| {
            let password = Token::read(file);
            let password = password.map_err(|error| ChannelError::permanent(error.to_string()));
            password.map(|password| (user.clone(), password))
        });
        Ok(Email {
            name,
            most,
            server: settings.target().map_err(ChannelError::permanent)?,
            tls: settings.tls,
            login: login.transpose()?,
            from: settings.from.clone(),
            to: settings.to.clone(),
            // Without TLS it goes to this machine and nowhere else, which is checked below.
            allow_private: settings.allow_private || settings.tls == Tls::None,
            timeout: settings.timeout,
        })
    }

    async fn send(
        &self,
        news: &Announcement,
        answers: Option<&str>,
    ) -> Result<String, ChannelError> {
        let letter = Letter { news, from: &self.from, to: &self.to, channel: &self.name, answers };
        let text = letter.text();
        let envelope = Envelope { from: &self.from, to: &self.to, text: &text };
        let sending = async {
            let stream = connect(&self.server, self.allow_private).await?;
            if self.tls == Tls::None {
                let here = stream.peer_addr().is_ok_and(|address| address.ip().is_loopback());
                if !here {
                    return Err(ChannelError::permanent(
                        "without TLS only this machine is written to",
                    ));
                }
            }
            let login =
                self.login.as_ref().map(|(user, password)| (user.as_str(), password.expose()));
            match self.tls {
                Tls::None => Session::new(stream).greeted().await?.post(login, envelope).await,
                Tls::Implicit => {
                    let stream = secured(&self.server, stream).await?;
                    Session::new(stream).greeted().await?.post(login, envelope).await
                }
                Tls::Starttls => {
                    let open = Session::new(stream).greeted().await?.starttls().await?;
                    let stream = secured(&self.server, open).await?;
                    Session::new(stream).post(login, envelope).await
                }
            }
        };
        match tokio::time::timeout(self.timeout, sending).await {
            Ok(sent) => sent.map(|()| letter.name()),
            Err(_) => Err(ChannelError::again("no answer in time")),
        }
    }
}

impl Channel for Email {
    fn name(&self) -> &str {
        &self.name
    }

    fn most(&self) -> Tier {
        self.most
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(async { self.send(news, None).await.map(Receipt) })
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()> {
        let prompt = prompt.map(|receipt| receipt.0.as_str()).filter(|name| !name.is_empty());
        Box::pin(async move { self.send(end, prompt).await.map(|_| ()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn settings() -> Settings {
        Settings {
            server: "mail.example.org".to_owned(),
            port: 465,
            tls: Tls::Implicit,
            login: None,
            from: "countersign@example.org".to_owned(),
            to: vec!["ana@example.org".to_owned()],
            allow_private: false,
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn what_could_say_something_else_to_a_server_is_refused() {
        assert_eq!(settings().problem(), None);
        for address in [
            "",
            "ana",
            "@example.org",
            "ana@",
            "ana@example.org\r\nRCPT TO:<eve@example.org>",
            "ana@example.org>",
            "a b@example.org",
            "\"a\"@example.org",
            "ana@example.org, eve@example.org",
            "\u{e4}na@example.org",
            "ana@exa mple.org",
        ] {
            assert!(
                Settings { from: address.to_owned(), ..settings() }.problem().is_some()
                    && Settings { to: vec![address.to_owned()], ..settings() }.problem().is_some(),
                "{address:?}"
            );
        }
        for server in ["", "a b", "a/b", "a@b", "a\r\nb", "a?b", "a#b"] {
            let bad = Settings { server: server.to_owned(), ..settings() };
            assert!(bad.problem().is_some(), "{server:?}");
        }
        let login = Some(("a\r\nb".to_owned(), PathBuf::new()));
        assert!(Settings { login, ..settings() }.problem().is_some());
        assert!(Settings { to: Vec::new(), ..settings() }.problem().is_some());
    }

    #[test]
    fn without_tls_only_this_machine() {
        for (server, good) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("mail.example.org", false),
            ("10.0.0.1", false),
            ("localhost.example.org", false),
        ] {
            let open = Settings { tls: Tls::None, server: server.to_owned(), ..settings() };
            assert_eq!(open.problem().is_none(), good, "{server}");
        }
    }
}
