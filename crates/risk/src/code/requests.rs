//! Requests that code sends.

use crate::code::apply_rule::At;
use crate::code::reader::Reader;
use crate::code::table::{Kind, Rule, SIGN_ENV, SIGN_FETCH, SIGN_SEND, TAINT_ENV};
use crate::code::url;
use crate::code::value::Value;
use crate::effect::Effect;
use countersign_types::tier::Tier;

impl<'a> Reader<'a, '_> {
    /// An HTTP request: fetching, or sending when it carries data.
    pub(super) fn request(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let mut carries = false;
        if rule.kind == Kind::Request {
            let verb = |v: &Value<'_>| v.text().is_some_and(sends);
            let options = args.iter().flat_map(|a| a.items().iter().chain(std::iter::once(a)));
            carries = options.clone().any(|v| match v.key {
                "method" | "type" => verb(v),
                "data" | "json" | "files" | "body" => v.text() != Some("None"),
                _ => false,
            }) || args.iter().take(2).any(verb);
            // `urlopen(url, data)`, `Request(url, data)`.
            let second = Value::nth(args, rule.arg + 1);
            let data = |v: &Value<'_>| v.num.is_none() && v.name != "None" && v.key.is_empty();
            carries |= rule.tier == Tier::Medium && second.is_some_and(data);
        }
        let address = subject.filter(|v| v.text().is_some_and(|t| t.contains("://")));
        let address =
            address.or_else(|| args.iter().find(|v| v.text().is_some_and(|t| t.contains("://"))));
        if address.is_none_or(|value| value.text().is_none()) && !self.quiet {
            self.out.trace.reaches_unknown_host = true;
        }
        self.address(address, at);
        let data = args.iter().fold(0, |t, v| t | v.taint);
        if carries {
            self.signs |= SIGN_SEND;
            self.signs |= if data & TAINT_ENV != 0 { SIGN_ENV } else { 0 };
            if !self.quiet {
                self.out.effect(Effect::NetOut);
            }
            self.note(rule, Tier::Medium, "", at);
        } else {
            self.signs |= SIGN_FETCH;
            if !self.quiet {
                self.out.effect(Effect::NetIn);
            }
        }
    }

    fn address(&mut self, value: Option<&Value<'a>>, at: At) {
        let Some(value) = value.filter(|_| !self.quiet) else { return };
        for choice in value.choices() {
            let Some(text) = choice.text() else { continue };
            if let Some(host) = url::host(text) {
                self.out.impact.hosts.add(host);
            }
            let rule = self.table.rules.iter().find(|r| r.id == "code.net.disguised");
            if let Some(rule) = rule.filter(|_| url::disguised(text)) {
                self.note(rule, rule.tier, "", at);
            }
        }
    }
}

fn sends(verb: &str) -> bool {
    ["POST", "PUT", "PATCH", "DELETE"].iter().any(|v| v.eq_ignore_ascii_case(verb))
}
