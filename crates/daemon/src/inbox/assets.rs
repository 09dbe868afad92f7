//! Style sheets, scripts and images, embedded in the binary.

use std::fmt::Write as _;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use countersign_json::canonical::Digest;

use crate::api::{Api, ApiProblem};

struct File {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const FILES: [File; 10] = [
    File {
        name: "inbox.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("assets/inbox.css"),
    },
    File {
        name: "inbox.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/inbox.js"),
    },
    File {
        name: "pending.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/pending.js"),
    },
    File {
        name: "answer.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/answer.js"),
    },
    File {
        name: "pages.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("assets/pages.css"),
    },
    File {
        name: "plain.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("assets/plain.css"),
    },
    File {
        name: "pages.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/pages.js"),
    },
    File {
        name: "passkey.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/passkey.js"),
    },
    File {
        name: "push.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/push.js"),
    },
    File { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

const MANIFEST: &str = include_str!("assets/manifest.webmanifest");
/// At the root, because a service worker controls the pages at and below its own path.
const WORKER: &str = include_str!("assets/sw.js");
const ICON: &[u8] = include_bytes!("assets/icon-192.png");
const LARGE_ICON: &[u8] = include_bytes!("assets/icon-512.png");
const MASKED_ICON: &[u8] = include_bytes!("assets/icon-mask.png");

/// The routes of the files.
pub fn files() -> Router<Api> {
    Router::new()
        .route("/assets/{version}/{name}", get(file))
        .route("/manifest.webmanifest", get(manifest))
        .route("/sw.js", get(worker))
        .route("/icon-192.png", get(async || picture(ICON)))
        .route("/icon-512.png", get(async || picture(LARGE_ICON)))
        .route("/icon-mask.png", get(async || picture(MASKED_ICON)))
}

fn picture(bytes: &'static [u8]) -> Response {
    ([(header::CONTENT_TYPE, "image/png")], bytes).into_response()
}

/// The worker may load nothing: what it shows came with the push message.
async fn worker() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ];
    (headers, WORKER).into_response()
}

/// The URL of a file. It contains the file's hash, so that a new version is loaded at once.
pub fn address(name: &str) -> String {
    let mut address = "/assets/".to_owned();
    if let Some(file) = FILES.iter().find(|file| file.name == name) {
        let hash = Digest::of(file.text.as_bytes());
        for byte in hash.as_bytes().iter().take(6) {
            let _ = write!(address, "{byte:02x}");
        }
    }
    address + "/" + name
}

async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return ApiProblem::not_found("file not found").into_response();
    };
    let headers = [(header::CONTENT_TYPE, file.kind)];
    (StatusCode::OK, headers, file.text).into_response()
}

async fn manifest() -> Response {
    ([(header::CONTENT_TYPE, "application/manifest+json")], MANIFEST).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::FILES;

    #[test]
    fn no_two_scripts_of_a_page_declare_the_same_name() {
        let mut declared: HashMap<&str, &str> = HashMap::new();
        for file in FILES.iter().filter(|file| file.kind.starts_with("text/javascript")) {
            for line in file.text.lines() {
                let line = line.strip_prefix("async ").unwrap_or(line);
                let words = ["const ", "let ", "function "];
                let Some(rest) = words.iter().find_map(|word| line.strip_prefix(word)) else {
                    continue;
                };
                let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
                let name = name.filter(|name| !name.is_empty());
                if let Some(other) = name.and_then(|name| declared.insert(name, file.name)) {
                    panic!("{name:?} is declared in {other} and in {}: neither runs", file.name);
                }
            }
        }
        assert!(declared.contains_key("credentials") && declared.contains_key("answer"));
    }
}
