//! Where a daemon listens: a TCP address or a Unix socket.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// The address of one of the daemon's APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `host:port`, reached over plain HTTP.
    Tcp(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Parses `127.0.0.1:6001`, `http://127.0.0.1:6001`, `unix:/path` or `/path`.
    pub fn parse(text: &str) -> Result<Endpoint, Error> {
        if let Some(path) = text.strip_prefix("unix:").or(text.starts_with('/').then_some(text)) {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return if path.is_absolute() {
                Ok(Endpoint::Unix(path))
            } else {
                Err(Error::Input(format!("`{text}` is not an absolute path")))
            };
        }
        if text.starts_with("https://") {
            return Err(Error::Input(format!(
                "`{text}`: https is not supported; use http:// through a tunnel"
            )));
        }
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let port = rest.rsplit_once(':').and_then(|(host, port)| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
            (!host.is_empty() && host.bytes().all(plain)).then(|| port.parse::<u16>().ok())?
        });
        match port {
            Some(_) => Ok(Endpoint::Tcp(rest.to_owned())),
            None => Err(Error::Input(format!(
                "invalid address `{text}`; expected for example 127.0.0.1:6001"
            ))),
        }
    }

    /// The value of the `Host` header.
    pub(crate) fn host(&self) -> &str {
        match self {
            Endpoint::Tcp(authority) => authority,
            Endpoint::Unix(_) => "localhost",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(authority) => write!(f, "http://{authority}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
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
        for bad in
            ["", "6001", "host", "host:", "host:x", "https://a:1", "unix:x", ":1", "a b:1", "a/b:1"]
        {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
        // A line break would inject a header.
        assert!(Endpoint::parse("a\r\nx:1").is_err());
    }
}
