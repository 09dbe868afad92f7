//! E-mail: one message about each request, in one thread. Its link opens the inbox and decides
//! nothing, because mail programs open links by themselves.

mod content;
mod session;
mod stream;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use countersign_net::{connect_tcp, connect_tls, trusted_roots};
use countersign_types::tier::Tier;
use lettre::Address;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::secret::{SecretError, Token};
use crate::{Announcement, Channel, ChannelError, ChannelFuture, Receipt};
use content::Content;
use session::Session;

/// The most recipients of a message.
const MAX_RECIPIENTS: usize = 20;

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailSettings {
    /// The mail server.
    pub server: String,
    /// Its port.
    pub port: u16,
    /// How the connection is encrypted.
    pub tls: Tls,
    /// How we log in, where the server wants that.
    pub login: Option<SmtpLogin>,
    /// The sender's address.
    pub from: String,
    /// The recipients' addresses.
    pub to: Vec<String>,
    /// Whether private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// How we log in to the mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpLogin {
    /// The user name.
    pub user: String,
    /// What proves it.
    pub secret: LoginSecret,
}

/// What proves who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginSecret {
    /// The file of a password, read once.
    Password(PathBuf),
    /// The file of an OAuth 2.0 access token. It is read for every message, because another
    /// program has to replace the token before it expires.
    OAuth2(PathBuf),
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS from the first byte.
    Implicit,
    /// STARTTLS, without which nothing is sent.
    Starttls,
    /// Not at all: for a server on this machine only.
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

impl EmailSettings {
    /// What is wrong with the settings, if anything.
    pub fn problem(&self) -> Option<String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
        if self.server.is_empty() || !self.server.bytes().all(plain) {
            return Some(
                "server: must be a host name or an IP address and nothing else".to_owned(),
            );
        }
        let is_local = self.server == "localhost"
            || self.server.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        if self.tls == Tls::None && !is_local {
            return Some("tls: \"none\" is only for a server on this machine".to_owned());
        }
        if self.to.is_empty() || self.to.len() > MAX_RECIPIENTS {
            return Some(format!("to: must be a list of 1 to {MAX_RECIPIENTS} addresses"));
        }
        if let Some(bad) = self.to.iter().chain([&self.from]).find(|text| parse(text).is_err()) {
            return Some(format!("{bad:?} is not a plain address such as ana@example.org"));
        }
        let plain = |login: &SmtpLogin| login.user.bytes().all(|byte| byte.is_ascii_graphic());
        let good = self.login.as_ref().is_none_or(plain);
        (!good).then(|| "user: must have only ASCII letters, digits and punctuation".to_owned())
    }
}

/// An address without quoting, comments or international characters.
fn parse(text: &str) -> Result<Address, ChannelError> {
    let invalid = || ChannelError::permanent(format!("{text:?} is not an e-mail address"));
    if is_address(text) { text.parse().map_err(|_| invalid()) } else { Err(invalid()) }
}

/// Whether this is an address that can be in a header and in an SMTP command unchanged.
fn is_address(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    (1..=64).contains(&name.len())
        && (1..=255).contains(&host.len())
        && name.bytes().all(sign)
        && host.bytes().all(letter)
}

/// A login with its secret, or with the place where the newest secret is.
#[derive(Debug)]
enum OpenLogin {
    Password(String, Token),
    OAuth2(String, PathBuf),
}

impl OpenLogin {
    fn read(&self) -> Result<session::SmtpCredentials, ChannelError> {
        let with = |user: &str, token: &Token| {
            Credentials::new(user.to_owned(), token.expose().to_owned())
        };
        match self {
            OpenLogin::Password(user, password) => {
                Ok(session::SmtpCredentials::Password(with(user, password)))
            }
            OpenLogin::OAuth2(user, file) => {
                // Another program may be replacing the file at this moment.
                let token = Token::read(file);
                let token = token.map_err(|error| ChannelError::again(error.to_string()))?;
                Ok(session::SmtpCredentials::OAuth2(with(user, &token)))
            }
        }
    }
}

/// A mail server and the recipients.
pub struct Email {
    name: String,
    max_tier: Tier,
    settings: EmailSettings,
    login: Option<OpenLogin>,
    from: Address,
    to: Vec<Address>,
    /// The parameters for STARTTLS, made at the first use.
    tls: OnceCell<TlsParameters>,
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Email").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Email {
    /// Reads the password.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &EmailSettings,
    ) -> Result<Email, ChannelError> {
        let login = settings.login.as_ref().map(|SmtpLogin { user, secret }| match secret {
            LoginSecret::Password(file) => {
                let password = Token::read(file).map_err(unreadable)?;
                Ok::<_, ChannelError>(OpenLogin::Password(user.clone(), password))
            }
            LoginSecret::OAuth2(file) => {
                // Read again for every message; here only to report a mistake early.
                Token::read(file).map_err(unreadable)?;
                Ok(OpenLogin::OAuth2(user.clone(), file.clone()))
            }
        });
        Ok(Email {
            name,
            max_tier,
            login: login.transpose()?,
            from: parse(&settings.from)?,
            to: settings.to.iter().map(|address| parse(address)).collect::<Result<_, _>>()?,
            settings: settings.clone(),
            tls: OnceCell::new(),
        })
    }

    async fn send(
        &self,
        news: &Announcement,
        in_reply_to: Option<&str>,
    ) -> Result<String, ChannelError> {
        let content =
            Content { news, from: &self.from, to: &self.to, channel: &self.name, in_reply_to };
        let message = content.to_bytes()?;
        let delivery = self.deliver(message);
        match tokio::time::timeout(self.settings.timeout, delivery).await {
            Ok(sent) => sent.map(|()| content.message_id()),
            Err(_) => Err(ChannelError::again("the mail server did not answer in time")),
        }
    }

    async fn deliver(&self, message: Vec<u8>) -> Result<(), ChannelError> {
        let settings = &self.settings;
        let session = Session {
            starttls: match settings.tls {
                Tls::Starttls => Some(self.tls_parameters().await?),
                Tls::Implicit | Tls::None => None,
            },
            login: self.login.as_ref().map(OpenLogin::read).transpose()?,
            from: self.from.clone(),
            to: self.to.clone(),
            message,
        };
        // Without TLS the connection ends on this machine, which is checked below.
        let allow_private = settings.allow_private || settings.tls == Tls::None;
        let stream = connect_tcp(&settings.server, settings.port, allow_private).await?;
        let lost = |_| ChannelError::again("the connection was closed");
        let peer = stream.peer_addr().map_err(lost)?;
        if settings.tls == Tls::None && !peer.ip().is_loopback() {
            return Err(ChannelError::permanent(
                "without TLS only a server on this machine is used: set tls = \"implicit\"",
            ));
        }
        // In a task of its own, so that a panic while reading what a server sent ends nothing else.
        // Dropping the set cancels the session.
        let mut task = JoinSet::new();
        if settings.tls == Tls::Implicit {
            let stream = connect_tls(&settings.server, stream).await?;
            task.spawn(session.run(stream, peer));
        } else {
            task.spawn(session.run(stream, peer));
        }
        match task.join_next().await {
            Some(Ok(sent)) => sent,
            _ => Err(ChannelError::again("the answer of the mail server could not be read")),
        }
    }

    async fn tls_parameters(&self) -> Result<TlsParameters, ChannelError> {
        let make = async || {
            let failed = |error: lettre::transport::smtp::Error| {
                ChannelError::permanent(format!("TLS could not be set up: {error}"))
            };
            let mut builder = TlsParameters::builder(self.settings.server.clone())
                .certificate_store(CertificateStore::None);
            for root in trusted_roots().await?.iter() {
                let root = Certificate::from_der(root.to_vec()).map_err(failed)?;
                builder = builder.add_root_certificate(root);
            }
            builder.build_rustls().map_err(failed)
        };
        self.tls.get_or_try_init(make).await.cloned()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used in map_err")]
fn unreadable(error: SecretError) -> ChannelError {
    ChannelError::permanent(error.to_string())
}

impl Channel for Email {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { self.send(news, None).await.map(Receipt) })
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        let prompt = prompt.map(|receipt| receipt.0.as_str()).filter(|name| !name.is_empty());
        Box::pin(async move { self.send(end, prompt).await.map(|_| ()) })
    }
}

#[cfg(test)]
mod tests;
