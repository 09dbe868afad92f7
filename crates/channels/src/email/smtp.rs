//! The dialogue with a mail server (RFC 5321, 3207, 4954): one letter a connection, every answer
//! bounded. A server that says "later" is believed, and one that says "never" as well.

use countersign_core::base64;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use zeroize::Zeroizing;

use crate::ChannelError;
use crate::post::broken;

/// The longest answer.
const LONGEST: usize = 8 * 1024;

/// A letter and who gets it.
#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    pub from: &'a str,
    pub to: &'a [String],
    pub text: &'a str,
}

/// A connection to a mail server.
pub struct Session<S> {
    stream: S,
    /// What came and was not read yet.
    unread: Vec<u8>,
}

struct Reply {
    code: u16,
    lines: Vec<String>,
}

impl Reply {
    /// An error unless the server says yes (2xx) or go on (3xx).
    fn taken(self, doing: &str) -> Result<Reply, ChannelError> {
        if matches!(self.code, 200..=399) { Ok(self) } else { Err(refused(self.code, doing)) }
    }
}

fn refused(code: u16, doing: &str) -> ChannelError {
    let problem = format!("the mail server answered {code} to {doing}");
    if code >= 500 { ChannelError::permanent(problem) } else { ChannelError::again(problem) }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    pub fn new(stream: S) -> Session<S> {
        Session { stream, unread: Vec::new() }
    }

    /// Waits for the server's first word.
    pub async fn greeted(mut self) -> Result<Session<S>, ChannelError> {
        self.reply().await?.taken("our coming")?;
        Ok(self)
    }

    /// Asks for TLS and gives the connection back; what a server or somebody between us said before
    /// it counts for nothing.
    pub async fn starttls(mut self) -> Result<S, ChannelError> {
        let offers = self.hello().await?;
        if !offers.iter().any(|offer| offer.eq_ignore_ascii_case("STARTTLS")) {
            return Err(ChannelError::permanent("the mail server offers no TLS"));
        }
        self.say("STARTTLS").await?.taken("STARTTLS")?;
        if !self.unread.is_empty() {
            return Err(ChannelError::again("somebody spoke before the connection was secret"));
        }
        Ok(self.stream)
    }

    /// Logs in, if that is wanted, and hands the letter over.
    pub async fn post(
        mut self,
        login: Option<(&str, &str)>,
        envelope: Envelope<'_>,
    ) -> Result<(), ChannelError> {
        let offers = self.hello().await?;
        if let Some((user, password)) = login {
            self.log_in(&offers, user, password).await?;
        }
        self.say(&format!("MAIL FROM:<{}>", envelope.from)).await?.taken("the sender")?;
        let mut worst: Option<u16> = None;
        let mut taken = false;
        for to in envelope.to {
            let reply = self.say(&format!("RCPT TO:<{to}>")).await?;
            if matches!(reply.code, 250..=259) {
                taken = true;
            } else {
                // Where one may be taken later, all of it is tried later.
                worst = Some(worst.map_or(reply.code, |code| code.min(reply.code)));
            }
        }
        // A letter that reaches some has told somebody.
        if !taken {
            return Err(refused(worst.unwrap_or(550), "everybody it is for"));
        }
        let go_on = self.say("DATA").await?;
        if go_on.code != 354 {
            return Err(refused(go_on.code, "the letter"));
        }
        self.write(stuffed(envelope.text).as_bytes()).await?;
        self.reply().await?.taken("the letter")?;
        // It is theirs now, whatever they say to this.
        let _ = self.write(b"QUIT\r\n").await;
        Ok(())
    }

    async fn hello(&mut self) -> Result<Vec<String>, ChannelError> {
        // Our own name says nothing to a server that does not know us.
        Ok(self.say("EHLO [127.0.0.1]").await?.taken("EHLO")?.lines)
    }

    async fn log_in(
        &mut self,
        offers: &[String],
        user: &str,
        password: &str,
    ) -> Result<(), ChannelError> {
        let offered = |way: &str| {
            offers.iter().any(|offer| {
                let mut words = offer.split_ascii_whitespace();
                words.next().is_some_and(|word| word.eq_ignore_ascii_case("AUTH"))
                    && words.any(|word| word.eq_ignore_ascii_case(way))
            })
        };
        let written = |text: &str| Zeroizing::new(base64::encode(text.as_bytes()));
        let reply = if offered("PLAIN") {
            let both = Zeroizing::new(format!("\0{user}\0{password}"));
            self.say(&Zeroizing::new(format!("AUTH PLAIN {}", *written(&both)))).await?
        } else if offered("LOGIN") {
            self.say("AUTH LOGIN").await?.taken("the login")?;
            self.say(&written(user)).await?.taken("the login")?;
            self.say(&written(password)).await?
        } else {
            return Err(ChannelError::permanent("the mail server takes no password"));
        };
        if reply.code == 235 { Ok(()) } else { Err(refused(reply.code, "the login")) }
    }

    async fn say(&mut self, line: &str) -> Result<Reply, ChannelError> {
        let line = Zeroizing::new(format!("{line}\r\n"));
        self.write(line.as_bytes()).await?;
        self.reply().await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.stream.write_all(bytes).await.map_err(broken)?;
        self.stream.flush().await.map_err(broken)
    }

    async fn reply(&mut self) -> Result<Reply, ChannelError> {
        let strange = || ChannelError::again("this is no mail server");
        let (mut lines, mut length) = (Vec::new(), 0);
        loop {
            let line = self.line().await?;
            length += line.len();
            let code = line.get(..3).filter(|code| code.bytes().all(|b| b.is_ascii_digit()));
            let code: u16 = code.and_then(|code| code.parse().ok()).ok_or_else(strange)?;
            let rest = line.get(3..).unwrap_or_default();
            lines.push(rest.get(1..).unwrap_or_default().trim().to_owned());
            if length > LONGEST || !(200..600).contains(&code) {
                return Err(strange());
            }
            match rest.chars().next() {
                None | Some(' ') => return Ok(Reply { code, lines }),
                Some('-') => {}
                Some(_) => return Err(strange()),
            }
        }
    }

    async fn line(&mut self) -> Result<String, ChannelError> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.unread.len() > LONGEST {
                return Err(ChannelError::again("this is no mail server"));
            }
            if self.stream.read_buf(&mut self.unread).await.map_err(broken)? == 0 {
                return Err(ChannelError::again("the connection broke"));
            }
        }
    }
}

/// A letter with its end, in which no line of its own can be taken for the end.
fn stuffed(text: &str) -> String {
    let mut stuffed = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive("\r\n") {
        if line.starts_with('.') {
            stuffed.push('.');
        }
        stuffed.push_str(line);
    }
    if !text.ends_with("\r\n") {
        stuffed.push_str("\r\n");
    }
    stuffed + ".\r\n"
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, duplex};

    use super::*;

    /// A stand-in for a server: says these lines, one after each that it hears.
    fn server(says: &'static [&'static str]) -> (DuplexStream, tokio::task::JoinHandle<String>) {
        let (ours, theirs) = duplex(64 * 1024);
        let task = tokio::spawn(async move {
            let (mut heard, mut stream) = (String::new(), BufReader::new(theirs));
            for says in says {
                let _ = stream.get_mut().write_all(format!("{says}\r\n").as_bytes()).await;
                loop {
                    let mut line = String::new();
                    if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                        return heard;
                    }
                    heard.push_str(&line);
                    // A letter is read to its end.
                    if !says.starts_with("354") || line == ".\r\n" {
                        break;
                    }
                }
            }
            heard
        });
        (ours, task)
    }

    async fn post(says: &'static [&'static str]) -> (Result<(), ChannelError>, String) {
        let (stream, task) = server(says);
        let to = ["ana@example.org".to_owned(), "bo@example.org".to_owned()];
        let envelope = Envelope { from: "g@example.org", to: &to, text: "A: b\r\n\r\n.c\r\n" };
        let login = Some(("u", "p"));
        let sent = async { Session::new(stream).greeted().await?.post(login, envelope).await };
        let sent = sent.await;
        (sent, task.await.unwrap())
    }

    #[tokio::test]
    async fn a_letter_is_handed_over() {
        let (sent, heard) = post(&[
            "220 mail",
            "250-mail\r\n250-SIZE 1000\r\n250 AUTH LOGIN PLAIN",
            "235 welcome",
            "250 ok",
            "250 ok",
            "550 nobody",
            "354 go on",
            "250 taken",
        ])
        .await;
        assert_eq!(sent, Ok(()), "one of two is enough");
        assert_eq!(
            heard,
            "EHLO [127.0.0.1]\r\nAUTH PLAIN AHUAcA==\r\nMAIL FROM:<g@example.org>\r\n\
             RCPT TO:<ana@example.org>\r\nRCPT TO:<bo@example.org>\r\nDATA\r\n\
             A: b\r\n\r\n..c\r\n.\r\nQUIT\r\n"
        );
    }

    #[tokio::test]
    async fn later_means_later_and_never_means_never() {
        for (says, permanent) in [
            (&["421 busy"] as &[&str], false),
            (&["554 go away"], true),
            (&["220 x", "250 x"], true),
            (&["220 x", "250 AUTH PLAIN", "535 wrong"], true),
            (&["220 x", "250 AUTH PLAIN", "454 later"], false),
            (&["220 x", "250 AUTH PLAIN", "235 x", "451 later"], false),
            (&["220 x", "250 AUTH PLAIN", "235 x", "250 x", "550 x", "450 later"], false),
            (&["220 x", "250 AUTH PLAIN", "235 x", "250 x", "550 x", "550 x"], true),
            (&["220 x", "250 AUTH PLAIN", "235 x", "250 x", "250 x", "250 x", "451 x"], false),
            (&["220 x", "250 AUTH PLAIN", "235 x", "250 x", "250 x", "250 x", "250 x"], false),
            (
                &["220 x", "250 AUTH PLAIN", "235 x", "250 x", "250 x", "250 x", "354 x", "552 x"],
                true,
            ),
            (&["220 x", "250 AUTH PLAIN", "235 x", "250 x", "250 x", "250 x", "354 x"], false),
            (&["HTTP/1.1 400 Bad Request"], false),
            (&["220"], false),
            (&[], false),
        ] {
            let says: &'static [&'static str] = Vec::leak(says.to_vec());
            let (sent, _) = post(says).await;
            assert_eq!(sent.unwrap_err().permanent, permanent, "{says:?}");
        }
    }

    #[tokio::test]
    async fn tls_is_demanded_and_nothing_said_before_it_counts() {
        let (stream, _task) = server(&["220 x", "250 AUTH PLAIN"]);
        let open = Session::new(stream).greeted().await.unwrap().starttls().await;
        assert!(open.unwrap_err().permanent);
        let (stream, _task) = server(&["220 x", "250 STARTTLS", "220 go\r\n250 AUTH PLAIN"]);
        let open = Session::new(stream).greeted().await.unwrap().starttls().await;
        assert!(open.unwrap_err().problem.contains("before the connection was secret"));
    }

    #[tokio::test]
    async fn a_server_that_never_ends_is_left() {
        let (stream, theirs) = duplex(1024);
        let task = tokio::spawn(async move {
            let mut theirs = theirs;
            while theirs.write_all(&[b'2'; 512]).await.is_ok() {}
        });
        assert!(Session::new(stream).greeted().await.is_err());
        task.await.unwrap();
    }
}
