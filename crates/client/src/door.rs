//! Where a daemon listens: an address on the network or a socket file.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// A door of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// `host:port`, spoken to in plain HTTP.
    Tcp(String),
    /// A socket file.
    Unix(PathBuf),
}

impl Door {
    /// Reads `127.0.0.1:6001`, `http://127.0.0.1:6001`, `unix:/path` or `/path`.
    pub fn parse(text: &str) -> Result<Door, Error> {
        if let Some(path) = text.strip_prefix("unix:").or(text.starts_with('/').then_some(text)) {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return if path.is_absolute() {
                Ok(Door::Unix(path))
            } else {
                Err(Error::Input(format!("`{text}` does not name an absolute path")))
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
            Some(_) => Ok(Door::Tcp(rest.to_owned())),
            None => Err(Error::Input(format!("`{text}` is no door such as 127.0.0.1:6001"))),
        }
    }

    /// What stands in the header `Host`.
    pub(crate) fn host(&self) -> &str {
        match self {
            Door::Tcp(authority) => authority,
            Door::Unix(_) => "localhost",
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Door::Tcp(authority) => write!(f, "http://{authority}"),
            Door::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_read_in_the_forms_people_write() {
        let tcp = Door::Tcp("127.0.0.1:6001".to_owned());
        assert_eq!(Door::parse("127.0.0.1:6001"), Ok(tcp.clone()));
        assert_eq!(Door::parse("http://127.0.0.1:6001/"), Ok(tcp));
        assert_eq!(Door::parse("http://[::1]:6001"), Ok(Door::Tcp("[::1]:6001".to_owned())));
        assert_eq!(Door::parse("unix:/run/a.sock"), Ok(Door::Unix("/run/a.sock".into())));
        assert_eq!(Door::parse("/run/a.sock"), Ok(Door::Unix("/run/a.sock".into())));
        for bad in
            ["", "6001", "host", "host:", "host:x", "https://a:1", "unix:x", ":1", "a b:1", "a/b:1"]
        {
            assert!(Door::parse(bad).is_err(), "{bad}");
        }
        // A line break would start a header of its own.
        assert!(Door::parse("a\r\nx:1").is_err());
    }
}
