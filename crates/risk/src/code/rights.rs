//! Processes that code ends, and rights that it gives.

use crate::code::apply_rule::At;
use crate::code::paths::sensitive;
use crate::code::reader::Reader;
use crate::code::table::Rule;
use crate::code::value::Value;
use countersign_types::tier::Tier;

impl<'a> Reader<'a, '_> {
    pub(super) fn kill(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let signal = Value::nth(args, rule.arg + 1).and_then(|v| v.num);
        if signal == Some(0) {
            return;
        }
        let tier = match subject.and_then(|v| v.num) {
            Some(-1 | 1) => Tier::Critical,
            _ => rule.tier,
        };
        self.note(
            rule,
            tier,
            if tier == Tier::Critical { "everything on the machine" } else { "" },
            at,
        );
    }

    /// `chmod`, `chown`.
    pub(super) fn mode(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let bits = args.iter().filter_map(|v| v.num.or_else(|| octal(v.text()?))).max();
        let open = bits.is_some_and(|b| b & 0o002 != 0 || b & 0o6000 != 0);
        let path = subject.and_then(|v| v.latest().text());
        let reach = self.with_context(|ctx| sensitive(path.unwrap_or("x"), ctx));
        let (tier, note) = if !reach.note.is_empty() {
            (reach.write, reach.note)
        } else if open {
            (Tier::High, "everybody may change it")
        } else {
            (rule.tier, "")
        };
        self.note(rule, tier, note, at);
    }
}

fn octal(text: &str) -> Option<i64> {
    (text.len() >= 3).then(|| i64::from_str_radix(text, 8).ok()).flatten()
}
