//! The one plain sentence: what a call would do, worst first, within 160 characters.

mod names;

use names::{deferred, entries, headline, names, second, shown};

use crate::assess::{Assessment, Reason};
use crate::call::Call;
use crate::effect::{Effect, Effects};
use crate::finding::{Doubt, Factor};
use crate::impact::{CountedList, Impact};
use crate::redact::{RedactedCall, redact_call};
use countersign_redact::{before_marker, sanitize_marked};
use countersign_text::glob;
use countersign_types::tier::Tier;

/// The longest sentence, in characters.
pub const LONGEST: usize = 160;

/// A part of the sentence, as `rules/brief.toml` describes it.
struct Clause {
    list: List,
    effects: &'static [Effect],
    codes: &'static [&'static str],
    mail: bool,
    only_leads: bool,
    headline: &'static str,
    message: &'static str,
    #[cfg(test)]
    call: &'static str,
    #[cfg(test)]
    says: &'static str,
}

/// How a part of the sentence is put: "delete it" or, behind a rule's message, "deletes it".
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Imperative,
    Indicative,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Nothing,
    Money,
    Recipients,
    Deletes,
    Writes,
    Rows,
    Services,
    Secrets,
    Hosts,
    Programs,
}

include!(concat!(env!("OUT_DIR"), "/brief.rs"));

/// What would happen, in one plain sentence. It never says that something is safe.
pub fn brief(call: &Call<'_>, assessment: &Assessment) -> String {
    of(&redact_call(call, assessment), assessment)
}

/// The same, where the secrets are out already.
pub(crate) fn of(clean: &RedactedCall, assessment: &Assessment) -> String {
    let top = clean.reasons.iter().find(|reason| reason.factor == Factor::Pattern);
    let named = top.and_then(|top| headline(clean, &top.code).or_else(|| deferred(clean, top)));
    let fits = |clause: &&Clause| clause.fits(&clean.impact, assessment.effects);
    let speaks = |clause: &&Clause| {
        let code = top.map(|top| &*top.code).unwrap_or_default();
        clause.codes.iter().any(|pattern| glob::matches(pattern, code))
    };
    let lead = CLAUSES.iter().filter(|_| named.is_none()).filter(fits).find(speaks);
    let unknown = [Doubt::GuessedTool, Doubt::UnknownProgram]
        .iter()
        .all(|doubt| assessment.doubts.contains(doubt));
    let mut mood = Mood::Imperative;
    let mut sentence = match (&named, lead, top) {
        (Some(named), ..) => named.clone(),
        (_, Some(lead), _) => lead.message(mood, &clean.impact),
        (_, None, Some(top))
            if !unknown && !top.message.is_empty() && has_weight(top, assessment) =>
        {
            mood = Mood::Indicative;
            without_stop(&sanitize_marked(&top.message, LONGEST).text).to_owned()
        }
        _ => String::new(),
    };
    let second = top.filter(|_| mood == Mood::Imperative).and_then(|top| second(clean, top));
    if let Some(second) = second.filter(|_| !sentence.is_empty()) {
        append(&mut sentence, &second);
        return finish(&sentence);
    }
    add_clauses(&mut sentence, (lead, named.as_deref(), mood), clean, assessment.effects);
    if sentence.is_empty() {
        sentence = UNKNOWN.replace("{tool}", &shown(&clean.tool));
    }
    finish(&sentence)
}

/// Adds what the impact says beyond the lead or the headline.
fn add_clauses(
    sentence: &mut String,
    (lead, named, mood): (Option<&Clause>, Option<&str>, Mood),
    clean: &RedactedCall,
    effects: Effects,
) {
    let told = |list: List| {
        let amount = clean.impact.money.first().map(|money| shown(&money.amount));
        let is_amount = list == List::Money
            && amount.is_some_and(|amount| named.is_some_and(|named| named.contains(&amount)));
        is_amount
            || lead.is_some_and(|lead| lead.list == list)
            || named.is_some_and(|named| names(named, touched(&clean.impact, list)))
    };
    for clause in CLAUSES.iter().filter(|clause| clause.fits(&clean.impact, effects)) {
        let again = clause.list != List::Nothing && told(clause.list);
        let of_money = told(List::Money) && clause.list == List::Recipients;
        if again || of_money || clause.only_leads || lead.is_some_and(|l| std::ptr::eq(l, clause)) {
            continue;
        }
        let is_first = sentence.is_empty();
        append(sentence, &clause.message(mood, &clean.impact));
        // Two parts are read, five are not.
        if !is_first || clause.list == List::Recipients {
            break;
        }
    }
}

/// Adds a part to a sentence if there is room for it.
fn append(sentence: &mut String, part: &str) {
    let joint = if sentence.is_empty() { "" } else { "; " };
    let length = sentence.chars().count() + joint.len() + part.chars().count();
    if length < LONGEST {
        sentence.push_str(joint);
        sentence.push_str(part);
    }
}

/// What kinds of things would happen, from the effects alone: no word of the call is in it.
pub(crate) fn neutral(effects: Effects) -> String {
    let mut says =
        NEUTRAL.iter().filter(|(effect, _)| effects.has(*effect)).map(|(_, message)| *message);
    match (says.next(), says.next()) {
        (Some(first), Some(second)) => finish(&format!("{first}; {second}")),
        (Some(only), None) => finish(only),
        (None, _) => finish(NEUTRAL_UNKNOWN),
    }
}

fn has_weight(top: &Reason, assessment: &Assessment) -> bool {
    top.weight.tier() > Tier::Safe || assessment.tier == Tier::Safe
}

/// A capital at the front, one full stop at the end, nothing too long.
fn finish(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len() + 4);
    let mut chars = without_stop(sentence).chars();
    out.extend(chars.next().into_iter().flat_map(char::to_uppercase));
    let rest = chars.as_str();
    let room = LONGEST.saturating_sub(out.chars().count() + 1);
    if rest.chars().count() > room {
        let place =
            rest.char_indices().nth(room.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        out.push_str(rest.get(..before_marker(rest, place)).unwrap_or_default().trim_end());
        out.push('…');
    } else {
        out.push_str(rest);
    }
    out.push('.');
    out
}

fn without_stop(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

impl Clause {
    fn fits(&self, impact: &Impact, effects: Effects) -> bool {
        let listed = match self.list {
            List::Nothing => true,
            List::Money => !impact.money.is_empty(),
            other => touched(impact, other).is_some_and(|list| !list.is_empty()),
        };
        let mail = |list: &CountedList| {
            list.listed.first().is_some_and(|to| {
                to.split_once('@').is_some_and(|(who, host)| !who.is_empty() && host.contains('.'))
            })
        };
        listed
            && self.effects.iter().all(|&effect| effects.has(effect))
            && (!self.mail || mail(&impact.recipients))
    }

    fn message(&self, mood: Mood, impact: &Impact) -> String {
        let list = touched(impact, self.list);
        let mut text = match mood {
            Mood::Imperative => self.headline.to_owned(),
            Mood::Indicative => self.message.to_owned(),
        };
        let mut put = |name: &str, what: &dyn Fn() -> String| {
            if let Some((head, tail)) = text.split_once(name) {
                text = format!("{head}{}{tail}", what());
            }
        };
        put("{list}", &|| list.map(entries).unwrap_or_default());
        put("{files}", &|| list.map(files).unwrap_or_default());
        put("{money}", &|| money(impact));
        put("{to}", &|| match &impact.recipients {
            list if list.is_empty() => String::new(),
            list => format!(" to {}", entries(list)),
        });
        text
    }
}

fn touched(impact: &Impact, list: List) -> Option<&CountedList> {
    match list {
        List::Nothing | List::Money => None,
        List::Recipients => Some(&impact.recipients),
        List::Deletes => Some(&impact.deletes),
        List::Writes => Some(&impact.writes),
        List::Rows => Some(&impact.rows),
        List::Services => Some(&impact.services),
        List::Secrets => Some(&impact.secrets),
        List::Hosts => Some(&impact.hosts),
        List::Programs => Some(&impact.programs),
    }
}

/// `3 files below ~/code/shop` where all of them are known to be there.
fn files(list: &CountedList) -> String {
    let all = list.count as usize == list.listed.len();
    match folder(&list.listed).filter(|_| all && list.count > 1) {
        Some(folder) => {
            let is_file = |path: &String| {
                path.rsplit('/')
                    .next()
                    .is_some_and(|name| name.trim_start_matches('.').contains('.'))
            };
            let what = if list.listed.iter().all(is_file) { "files" } else { "files or folders" };
            format!("{} {what} below {}", list.count, shown(folder))
        }
        None => entries(list),
    }
}

/// The folder that holds all paths.
fn folder(paths: &[String]) -> Option<&str> {
    let mut shared = paths.first()?.rsplit_once('/')?.0;
    for path in paths {
        while !path.strip_prefix(shared).is_some_and(|rest| rest.starts_with('/')) {
            shared = shared.rsplit_once('/')?.0;
        }
    }
    Some(shared).filter(|shared| !shared.is_empty())
}

fn money(impact: &Impact) -> String {
    let Some(first) = impact.money.first() else { return String::new() };
    let currency = first.currency.as_deref().map(|name| format!(" {}", shown(name)));
    let more = match impact.money.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more amounts", count - 1),
    };
    format!("{}{}{more}", shown(&first.amount), currency.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::verdict::Policy;
    use countersign_json::parse;

    fn said(call: &str) -> String {
        let value = parse(call).unwrap();
        let call = Call::from_json(&value).unwrap();
        brief(&call, &assess(&call, &Policy::default()))
    }

    #[test]
    fn every_clause_says_its_example() {
        for clause in CLAUSES.iter().filter(|clause| !clause.call.is_empty()) {
            assert_eq!(said(clause.call), clause.says, "{}", clause.call);
        }
    }

    #[test]
    fn the_heaviest_reason_leads() {
        let force = said(r#"{"command":"git push --force"}"#);
        assert!(force.starts_with("Replaces history on the remote"), "{force}");
        let disk = said(r#"{"command":"touch a; mkfs.ext4 /dev/sda"}"#);
        assert!(!disk.starts_with("Writes a"), "{disk}");
    }

    #[test]
    fn what_is_not_known_is_said_to_be_unknown() {
        let unknown = "Calls the tool `zorp`; what it does is not known.";
        assert_eq!(said(r#"{"tool":"zorp","arguments":{"q":"x"}}"#), unknown);
    }

    #[test]
    fn never_long_never_safe_never_hidden_never_secret() {
        let long = format!(r#"{{"command":"rm -rf /{}"}}"#, "x".repeat(4000));
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let secret = format!(r#"{{"command":"rm -rf /tmp/{token}"}}"#);
        let bidi = "{\"command\":\"rm -rf ./\u{202E}abc\"}";
        for call in [&long, &secret, bidi, r#"{"command":"ls -la"}"#, r#"{"command":""}"#] {
            let said = said(call);
            assert!(said.chars().count() <= LONGEST, "{said}");
            assert!(!said.to_lowercase().contains("safe"), "{said}");
            assert!(!said.contains('\u{202E}') && !said.contains(&token), "{said}");
            assert!(said.ends_with('.') && !said.ends_with(".."), "{said}");
        }
    }
}
