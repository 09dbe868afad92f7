//! The address of a daemon: on the network or a socket file.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// An address of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `host:port`, spoken to in plain HTTP.
    Tcp(String),
    /// A socket file.
    Unix(PathBuf),
}

impl Endpoint {
    /// Reads `127.0.0.1:6001`, `http://127.0.0.1:6001`, `unix:/path` or `/path`.
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
                "`{text}`: this client speaks plain HTTP only; put a tunnel in between"
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
            None => Err(Error::Input(format!("`{text}` is not an address such as 127.0.0.1:6001"))),
        }
    }

    /// The value of the header `Host`.
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
    fn endpoints_are_read_in_every_form() {
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
        // A line break would start a header of its own.
        assert!(Endpoint::parse("a\r\nx:1").is_err());
    }
}
