//! One SMTP session: one message to a mail server that has been connected to.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use countersign_net::NetError;
use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use tokio::io::{AsyncRead, AsyncWrite};

use super::stream::LineStream;
use crate::ChannelError;

/// How long a server may take to say goodbye after it has accepted the message.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How a session proves who sends.
pub enum SmtpCredentials {
    /// With a password (PLAIN, or LOGIN where the server offers nothing else).
    Password(Credentials),
    /// With an OAuth 2.0 access token (XOAUTH2).
    OAuth2(Credentials),
}

/// What a session does.
pub struct Session {
    /// The TLS parameters, where the session begins without TLS and must change to it.
    pub starttls: Option<TlsParameters>,
    pub login: Option<SmtpCredentials>,
    pub from: Address,
    pub to: Vec<Address>,
    pub message: Vec<u8>,
}

impl Session {
    /// Hands the message over. It counts as sent when the server took it for one recipient.
    pub async fn run<S>(self, stream: S, peer: SocketAddr) -> Result<(), ChannelError>
    where
        S: AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static,
    {
        // Our own host name would tell a server nothing that it can check.
        let own_name = ClientId::Ipv4(Ipv4Addr::LOCALHOST);
        let stream = Box::new(LineStream::new(stream, peer));
        let mut smtp = AsyncSmtpConnection::connect_with_transport(stream, &own_name)
            .await
            .map_err(|error| smtp_error(&error, "the connection"))?;
        if let Some(tls) = self.starttls {
            if !smtp.can_starttls() {
                return Err(ChannelError::permanent(
                    "the mail server does not offer STARTTLS: use tls = \"implicit\"",
                ));
            }
            let upgraded = smtp.starttls(tls, &own_name).await;
            upgraded.map_err(|error| smtp_error(&error, "STARTTLS"))?;
        }
        if let Some(login) = &self.login {
            log_in(&mut smtp, login).await?;
        }
        let sender = Mail::new(Some(self.from), Vec::new());
        smtp.command(sender).await.map_err(|error| smtp_error(&error, "the sender"))?;
        let (mut accepted, mut refusal) = (false, None);
        for address in self.to {
            match smtp.command(Rcpt::new(address, Vec::new())).await {
                Ok(_) => accepted = true,
                Err(error) if error.status().is_some() => {
                    let error = smtp_error(&error, "every recipient");
                    // If one recipient may be accepted later, the whole message is tried later.
                    if refusal.as_ref().is_none_or(|known: &ChannelError| known.permanent) {
                        refusal = Some(error);
                    }
                }
                Err(error) => return Err(smtp_error(&error, "a recipient")),
            }
        }
        if let Some(refusal) = refusal.filter(|_| !accepted) {
            return Err(refusal);
        }
        let ready = smtp.command(Data).await.map_err(|error| smtp_error(&error, "DATA"))?;
        if !ready.has_code(354) {
            return Err(ChannelError::again("the mail server gave an unexpected answer to DATA"));
        }
        smtp.message(&self.message).await.map_err(|error| smtp_error(&error, "the message"))?;
        // The message is accepted; a slow answer to QUIT must not make it count as failed.
        tokio::spawn(async move { tokio::time::timeout(QUIT_TIMEOUT, smtp.quit()).await });
        Ok(())
    }
}

async fn log_in(
    smtp: &mut AsyncSmtpConnection,
    login: &SmtpCredentials,
) -> Result<(), ChannelError> {
    match login {
        SmtpCredentials::Password(credentials) => {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            let accepted = smtp.auth(&mechanisms, credentials).await;
            accepted.map_err(|error| smtp_error(&error, "the login"))?;
        }
        SmtpCredentials::OAuth2(credentials) => {
            let accepted = smtp.auth(&[Mechanism::Xoauth2], credentials).await;
            accepted.map_err(|error| {
                let error = smtp_error(&error, "the OAuth 2.0 login");
                // The file may hold a newer token at the next attempt.
                let problem = format!("{}: the access token may have expired", error.problem);
                ChannelError::again(problem)
            })?;
        }
    }
    Ok(())
}

/// What an error means. `step` names what was answered.
fn smtp_error(error: &SmtpError, step: &str) -> ChannelError {
    if let Some(code) = error.status() {
        let problem = format!("the mail server answered {code} to {step}");
        return if error.is_permanent() {
            ChannelError::permanent(problem)
        } else {
            ChannelError::again(problem)
        };
    }
    if let Some(network) = NetError::cause_of(error) {
        return network.into();
    }
    if error.is_client() {
        return ChannelError::permanent(format!(
            "the mail server does not support what {step} needs: {error}"
        ));
    }
    ChannelError::again(format!("the answer of the mail server to {step} is not valid SMTP"))
}
