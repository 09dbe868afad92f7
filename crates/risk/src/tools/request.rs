//! Requests over the network: the address and the method.

use super::arguments::Reader;
use super::target::Access;
use super::{table, text};
use crate::effect::Effect;
use crate::structural_findings;
use countersign_text::file_url;

impl Reader<'_, '_> {
    /// An address that the tool opens.
    pub(super) fn url(&mut self, url: &str) {
        if file_url::file(url).is_some() || file_url::hostless(url).is_some() {
            self.path(url, Access::Read, None);
            return;
        }
        if url.contains(char::is_whitespace) {
            // A sentence: each address in it may be opened.
            for part in url.split_whitespace().filter(|part| part.contains("://")) {
                self.url(part.trim_matches(|c: char| "\"'()<>[],.".contains(c)));
            }
            return;
        }
        let Some(host) = text::host(url) else { return };
        self.out.impact.hosts.add(host);
        self.out.effect(Effect::NetIn);
        if text::is_metadata_host(host) {
            self.out.effect(Effect::Secret);
            self.out.trace.shows_secret("credentials of this machine");
            self.out.add(structural_findings::MACHINE_CREDENTIALS.finding());
        }
        self.leak(url);
        if text::carries_data(url) {
            self.out.effect(Effect::NetOut);
            self.out.add(structural_findings::DATA_IN_ADDRESS.finding());
        }
    }

    /// The method of a request, such as `POST`.
    pub(super) fn method(&mut self, method: &str) {
        let reads = ["GET", "HEAD", "OPTIONS"];
        if reads.iter().any(|r| method.trim().eq_ignore_ascii_case(r)) {
            return;
        }
        // Some servers name one of their own operations here: `list_workflow_runs`.
        let words = super::name::words(method);
        let first = words.split(' ').next().and_then(table::verb);
        if first.is_some_and(|(verb, _)| verb.class.only_looks()) && words.contains(' ') {
            return self.action(method);
        }
        self.outward = true;
        self.out.effect(Effect::NetOut);
        self.out.effect(Effect::Remote);
        self.out.add(structural_findings::CHANGING_REQUEST.finding());
        if method.trim().eq_ignore_ascii_case("DELETE") {
            self.out.irreversible();
        }
    }
}
