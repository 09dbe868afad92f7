//! Allow-lists for Host and Origin, against DNS rebinding and cross-site requests.

use std::net::Ipv6Addr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use countersign_tls::split_authority;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The hosts and origins under which an API is reached.
#[derive(Debug, Clone)]
pub struct AllowedHosts {
    hosts: Vec<String>,
    https: Vec<String>,
    origins: Vec<String>,
}

impl AllowedHosts {
    /// Loopback names with the port, and the operator's names (served over `https://`). With `tls`
    /// the listener itself serves `https://`, under the names with its port too.
    pub fn new(port: u16, further: &[String], tls: bool) -> AllowedHosts {
        let local = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let named = further.iter().map(|name| header_form(name));
        let mut https: Vec<String> = named.collect();
        if tls {
            let bare = |name: &&String| split_authority(name).1.is_none();
            let with_port = |name: &String| format!("{name}:{port}");
            let with_port: Vec<String> = https.iter().filter(bare).map(with_port).collect();
            https = [&local[..], &https, &with_port].concat();
        }
        let (mut hosts, mut origins) = (https.clone(), Vec::new());
        if !tls {
            hosts.extend_from_slice(&local);
            origins.extend(local.iter().map(|host| format!("http://{host}")));
        }
        origins.extend(https.iter().map(|name| format!("https://{name}")));
        AllowedHosts { hosts, https, origins }
    }

    /// Whether the Host header is allowed. A missing, duplicate or foreign host is rejected: a web
    /// page can point its own name at this machine.
    pub fn is_host_allowed(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let ours = |host: &str| self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        host.to_str().is_ok_and(ours) && uri.authority().is_none_or(|named| ours(named.as_str()))
    }

    /// Whether the host is one of the operator's names, which are served over TLS.
    pub fn is_https(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let named = |host: &str| self.https.iter().any(|name| name.eq_ignore_ascii_case(host));
        host.to_str().is_ok_and(named)
    }

    /// The relying party id of an allowed origin: its host name. An IP address and a foreign origin
    /// have none.
    pub fn relying_party_of<'o>(&self, origin: &'o str) -> Option<&'o str> {
        if !self.origins.iter().any(|ours| ours == origin) {
            return None;
        }
        let (_, host) = origin.split_once("://")?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let numbers = name.starts_with('[') || name.parse::<std::net::IpAddr>().is_ok();
        (!numbers).then_some(name)
    }

    /// The origin of this request, if passkeys work there.
    pub fn passkey_origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(HOST)?.to_str().ok()?.to_ascii_lowercase();
        let scheme = if self.is_https(headers) { "https" } else { "http" };
        let origin = format!("{scheme}://{host}");
        self.relying_party_of(&origin).is_some().then_some(origin)
    }

    /// An origin of the same page where passkeys work.
    pub fn origin_for_passkeys(&self) -> Option<&str> {
        let mut origins = self.origins.iter().rev().map(String::as_str);
        origins.find(|origin| self.relying_party_of(origin).is_some())
    }

    /// Whether the request comes from an allowed page, or from no page at all.
    pub fn is_origin_allowed(&self, headers: &HeaderMap) -> bool {
        // Another port of this host is another origin but the same site: rejected as well.
        let ours = |site: &HeaderValue| matches!(site.to_str(), Ok("same-origin" | "none"));
        if !headers.get_all(FETCH_SITE).iter().all(ours) {
            return false;
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => {
                origin.to_str().is_ok_and(|origin| self.origins.iter().any(|ours| ours == origin))
            }
            (Some(_), Some(_)) => false,
        }
    }
}

/// A name as it appears in a Host header.
fn header_form(name: &str) -> String {
    if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]") } else { name.to_ascii_lowercase() }
}

/// Whether a browser sent the request: agents are not browsers.
pub fn is_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_work_for_allowed_host_names_only() {
        let names = ["Gate.example.org:8443".to_owned(), "10.0.0.1".to_owned()];
        let names = AllowedHosts::new(6001, &names, false);
        assert_eq!(names.relying_party_of("http://localhost:6001"), Some("localhost"));
        assert_eq!(
            names.relying_party_of("https://gate.example.org:8443"),
            Some("gate.example.org")
        );
        for other in [
            "http://127.0.0.1:6001",
            "http://[::1]:6001",
            "https://10.0.0.1",
            "https://localhost:6001",
            "http://localhost",
            "http://localhost:6002",
            "http://gate.example.org:8443",
            "https://gate.example.org",
            "https://gate.example.org:8443/",
            "null",
            "",
        ] {
            assert_eq!(names.relying_party_of(other), None, "{other}");
        }
        assert_eq!(names.origin_for_passkeys(), Some("https://gate.example.org:8443"));
    }

    #[test]
    fn with_tls_every_origin_is_https() {
        let names = AllowedHosts::new(6001, &["gate.example.org".to_owned()], true);
        for origin in
            ["https://gate.example.org", "https://gate.example.org:6001", "https://localhost:6001"]
        {
            assert!(names.relying_party_of(origin).is_some(), "{origin}");
        }
        for other in ["http://localhost:6001", "http://gate.example.org:6001"] {
            assert_eq!(names.relying_party_of(other), None, "{other}");
        }
        let headers = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::try_from(host).unwrap());
            headers
        };
        let uri = Uri::from_static("/");
        for host in ["localhost:6001", "127.0.0.1:6001", "gate.example.org:6001"] {
            assert!(names.is_https(&headers(host)), "{host}");
            assert!(names.is_host_allowed(&headers(host), &uri), "{host}");
        }
        for host in ["evil.example", "evil.example:6001", "gate.example.org:6000", "localhost"] {
            assert!(!names.is_host_allowed(&headers(host), &uri), "{host}");
        }
    }
}
