//! Where a daemon listens: a TCP address, with or without TLS, or a Unix socket.

use std::fmt;
use std::path::PathBuf;

use countersign_tls::TlsTrust;

use crate::error::Error;

/// The address of one of the daemon's APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `host:port`, reached over plain HTTP.
    Tcp(String),
    /// `host:port`, reached over HTTPS.
    Tls {
        /// `host:port`.
        authority: String,
        /// The certificate that is accepted.
        trust: TlsTrust,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Parses `127.0.0.1:6001`, `http://127.0.0.1:6001`, `https://HOST:6001#TRUST`, `unix:/path` or
    /// `/path`. `TRUST` is `sha256:` and the pin of the daemon's key, or `ca:` and the path of a CA
    /// file.
    pub fn parse(text: &str) -> Result<Endpoint, Error> {
        if let Some(path) = text.strip_prefix("unix:").or(text.starts_with('/').then_some(text)) {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return if path.is_absolute() {
                Ok(Endpoint::Unix(path))
            } else {
                Err(Error::Input(format!("`{text}` is not an absolute path")))
            };
        }
        if let Some(rest) = text.strip_prefix("https://") {
            let (authority, trust) = rest.split_once('#').unwrap_or((rest, ""));
            let authority = host_and_port(authority)?;
            let trust = TlsTrust::parse(trust);
            let trust = trust.map_err(|error| Error::Input(format!("`{text}`: {error}")))?;
            return Ok(Endpoint::Tls { authority, trust });
        }
        host_and_port(text.strip_prefix("http://").unwrap_or(text)).map(Endpoint::Tcp)
    }

    /// The address as `parse` reads it, with the certificate that is accepted.
    pub fn address(&self) -> String {
        match self {
            Endpoint::Tls { trust, .. } => format!("{self}#{trust}"),
            Endpoint::Tcp(_) | Endpoint::Unix(_) => self.to_string(),
        }
    }

    /// The value of the `Host` header.
    pub(crate) fn host(&self) -> &str {
        match self {
            Endpoint::Tcp(authority) | Endpoint::Tls { authority, .. } => authority,
            Endpoint::Unix(_) => "localhost",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(authority) => write!(f, "http://{authority}"),
            Endpoint::Tls { authority, .. } => write!(f, "https://{authority}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// `host:port`, with a slash at the end or without.
fn host_and_port(text: &str) -> Result<String, Error> {
    let rest = text.strip_suffix('/').unwrap_or(text);
    let port = rest.rsplit_once(':').and_then(|(host, port)| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        (!host.is_empty() && host.bytes().all(plain)).then(|| port.parse::<u16>().ok())?
    });
    port.map(|_| rest.to_owned()).ok_or_else(|| {
        Error::Input(format!("invalid address `{text}`; expected for example 127.0.0.1:6001"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_parsed() {
        let tcp = Endpoint::Tcp("127.0.0.1:6001".to_owned());
        assert_eq!(Endpoint::parse("127.0.0.1:6001"), Ok(tcp.clone()));
        assert_eq!(Endpoint::parse("http://127.0.0.1:6001/"), Ok(tcp));
        assert_eq!(
            Endpoint::parse("http://[::1]:6001"),
            Ok(Endpoint::Tcp("[::1]:6001".to_owned()))
        );
        assert_eq!(Endpoint::parse("unix:/run/a.sock"), Ok(Endpoint::Unix("/run/a.sock".into())));
        assert_eq!(Endpoint::parse("/run/a.sock"), Ok(Endpoint::Unix("/run/a.sock".into())));
        for bad in ["", "6001", "host", "host:", "host:x", "unix:x", ":1", "a b:1", "a/b:1"] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
        // A line break would inject a header.
        assert!(Endpoint::parse("a\r\nx:1").is_err());
    }

    #[test]
    fn an_https_address_names_what_is_trusted() {
        let pin = format!("sha256:{}", "0f".repeat(32));
        for trust in [pin.as_str(), "ca:/etc/ssl/certs/ca-certificates.crt"] {
            let text = format!("https://gate.example.org:6000#{trust}");
            let endpoint = Endpoint::parse(&text).unwrap();
            assert_eq!(endpoint.address(), text);
            assert_eq!(endpoint.to_string(), "https://gate.example.org:6000");
            assert_eq!(Endpoint::parse(&text.replace('#', "/#")), Ok(endpoint));
        }
        for bad in ["", "#", "#sha256:0f", "#ca:relative.pem", "#none", "#insecure"] {
            assert!(Endpoint::parse(&format!("https://a:1{bad}")).is_err(), "{bad}");
        }
        let message = Endpoint::parse("https://a:1").unwrap_err().to_string();
        assert!(message.contains("countersign keys tls"), "{message}");
        // Plain HTTP has no certificate: a pin there would check nothing.
        assert!(Endpoint::parse(&format!("http://a:1#{pin}")).is_err());
    }
}
