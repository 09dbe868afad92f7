//! A URL that may be requested: http or https, with a host and without credentials.

use std::fmt;

use hyper::Uri;
use hyper::http::uri::PathAndQuery;

/// An `http://` or `https://` URL.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl {
    uri: Uri,
    host: String,
    port: u16,
    is_https: bool,
}

/// Without the path: for some platforms it contains a secret.
impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({})", self.origin())
    }
}

impl HttpUrl {
    /// Reads a URL; the error says what is wrong with it.
    pub fn parse(url: &str) -> Result<HttpUrl, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "this is not a valid URL")?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("the URL must begin with https:// or http://"),
        };
        let authority = uri.authority().ok_or("the URL has no host")?;
        if authority.as_str().contains('@') {
            return Err("remove the user name or password from the URL: use a secret file");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err("the URL has no host");
        }
        let port = authority.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        Ok(HttpUrl { uri, host, port, is_https })
    }

    /// The host name or address, IPv6 without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, given or usual for the scheme.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// Scheme, host and port as browsers write an origin.
    pub fn origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// Host and port as the `Host` header has them.
    pub fn authority(&self) -> &str {
        self.uri.authority().map_or(self.host.as_str(), |authority| authority.as_str())
    }

    /// Whether the scheme is https.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// The URL as the HTTP library has it.
    pub fn into_uri(self) -> Uri {
        self.uri
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The URL with `path` (and perhaps a query) appended to its path; its own query is dropped.
    pub fn join(&self, path: &str) -> Result<HttpUrl, &'static str> {
        let base = self.uri.path().trim_end_matches('/');
        self.with_path_and_query(&format!("{base}{path}"))
    }

    /// The URL with another path and query on the same host.
    pub fn with_path_and_query(&self, path: &str) -> Result<HttpUrl, &'static str> {
        let path: PathAndQuery = path.parse().map_err(|_| "this is not a valid path")?;
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path);
        let uri = Uri::from_parts(parts).map_err(|_| "this is not a valid path")?;
        Ok(HttpUrl { uri, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_without_credentials_are_accepted() {
        let good = HttpUrl::parse("https://example.org:8443/a?b=c").unwrap();
        assert_eq!((good.host(), good.port(), good.is_https()), ("example.org", 8443, true));
        assert_eq!(good.uri().path_and_query().unwrap().as_str(), "/a?b=c");
        assert_eq!(HttpUrl::parse("http://[::1]").unwrap().host(), "::1");
        assert_eq!(HttpUrl::parse("http://[::1]").unwrap().port(), 80);
        for bad in [
            "",
            "example.org",
            "/path",
            "file:///etc/passwd",
            "ftp://example.org",
            "gopher://x/",
            "http://",
            "https://u:p@example.org/",
            "http://exa mple.org/",
            "unix:/run/x",
        ] {
            assert!(HttpUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_appended_and_stay_on_the_host() {
        let base = HttpUrl::parse("https://example.org/api/?x=1").unwrap();
        let joined = base.join("/messages?limit=5").unwrap();
        assert_eq!(joined.uri().to_string(), "https://example.org/api/messages?limit=5");
        assert_eq!(joined.origin(), "https://example.org");
        assert!(base.join("/a b").is_err());
        assert!(!format!("{joined:?}").contains("messages"), "a path may contain a secret");
    }
}
