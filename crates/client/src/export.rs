//! Exports of the ledger: JSON Lines, CSV, and OCSF for security tools.

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryError, EntryKind};
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use serde_json::{Map, json};

/// The OCSF version.
const OCSF: &str = "1.9.0";
/// The class API Activity.
const CLASS: u32 = 6003;

/// The header line of a CSV file.
pub const CSV_HEAD: &str = "seq,time,kind,agent,session,person,request,digest,policy,facts";

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The canonical entries, one per line: these can be verified.
    Jsonl,
    /// For spreadsheets.
    Csv,
    /// OCSF API Activity events, one per line.
    Ocsf,
}

impl Format {
    /// Parses a name.
    pub fn parse(text: &str) -> Option<Format> {
        match text {
            "jsonl" => Some(Format::Jsonl),
            "csv" => Some(Format::Csv),
            "ocsf" => Some(Format::Ocsf),
            _ => None,
        }
    }

    /// One entry as one line. An invalid entry is an error, not a gap.
    pub fn line(self, seq: u64, text: &str) -> Result<String, EntryError> {
        let entry = Entry::decode(text.as_bytes())?;
        Ok(match self {
            Format::Jsonl => text.to_owned(),
            Format::Csv => csv(seq, &entry),
            Format::Ocsf => ocsf(seq, &entry).to_string(),
        })
    }
}

fn csv(seq: u64, entry: &Entry<'_>) -> String {
    let digest = entry.digest.map(|digest| digest.to_string());
    let facts = facts(entry);
    let cells = [
        seq.to_string(),
        Timestamp(entry.at).to_string(),
        entry.kind.as_str().to_owned(),
        cell(entry.agent.as_deref()),
        cell(entry.session.as_deref()),
        cell(entry.person.as_deref()),
        cell(entry.request.as_deref()),
        cell(digest.as_deref()),
        entry.policy.to_string(),
        cell(facts.as_deref()),
    ];
    cells.join(",")
}

/// A cell that a spreadsheet treats as text, whatever an agent wrote into it.
fn cell(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    // Spreadsheets run cells that begin like a formula, even after spaces.
    let start = text.trim_start_matches([' ', '\u{a0}']);
    let formula = start.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '|', '%'])
        || start.starts_with(['\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    let guard = if formula { "'" } else { "" };
    if !formula && !text.contains(['"', ',', '\n', '\r', ';', '\t']) {
        return text.to_owned();
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

fn facts(entry: &Entry<'_>) -> Option<String> {
    (!entry.facts.is_empty()).then(|| Value::Object(entry.facts.clone()).to_json())
}

fn fact<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e str> {
    entry.facts.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.as_str())
}

/// The OCSF classification of an entry.
struct Sense {
    /// 1 create, 3 update, 4 delete, 99 other.
    activity: u32,
    /// 1 allowed, 2 denied.
    action: Option<u32>,
    /// 1 informational to 5 critical.
    severity: u32,
    failed: bool,
}

fn sense(kind: EntryKind) -> Sense {
    let plain = |activity| Sense { activity, action: None, severity: 1, failed: false };
    let allowed = |activity| Sense { action: Some(1), ..plain(activity) };
    let denied = |severity| Sense { action: Some(2), severity, ..plain(3) };
    let alarm = |severity| Sense { severity, ..plain(99) };
    match kind {
        EntryKind::Start
        | EntryKind::Stop
        | EntryKind::Notified
        | EntryKind::CheckpointSent
        | EntryKind::Screen => plain(99),
        EntryKind::Pass
        | EntryKind::UsedGrant
        | EntryKind::JudgeRelease
        | EntryKind::ReviewBegin => allowed(1),
        EntryKind::Ask | EntryKind::Grant | EntryKind::Permit | EntryKind::Label => plain(1),
        EntryKind::Vote
        | EntryKind::Escalate
        | EntryKind::Outcome
        | EntryKind::Edit
        | EntryKind::JudgeOpinion
        | EntryKind::Feedback
        | EntryKind::ReviewResult
        | EntryKind::ReviewEnd => plain(3),
        EntryKind::Person | EntryKind::Agent | EntryKind::RowsRecorded | EntryKind::Config => {
            Sense { severity: 2, ..plain(3) }
        }
        EntryKind::Approve | EntryKind::Redeem => allowed(3),
        EntryKind::Deny | EntryKind::Expire | EntryKind::Cancel => denied(2),
        EntryKind::Revoke => plain(4),
        EntryKind::NotifyFailed => Sense { failed: true, ..alarm(2) },
        EntryKind::LoginFailed => Sense { failed: true, ..alarm(3) },
        EntryKind::CrisisBegin | EntryKind::CrisisLift | EntryKind::CrisisTakeover => alarm(3),
        EntryKind::LockedOut | EntryKind::Quarantine | EntryKind::Frozen => denied(4),
        EntryKind::Clock
        | EntryKind::Gap
        | EntryKind::Acknowledge
        | EntryKind::ClockRebased
        | EntryKind::Thawed
        | EntryKind::KeyRotated
        | EntryKind::Certificate => alarm(4),
        EntryKind::GateUnprotected => alarm(5),
        EntryKind::GateProtected => alarm(1),
        EntryKind::JudgeState | EntryKind::RollBack => alarm(2),
    }
}

fn ocsf(seq: u64, entry: &Entry<'_>) -> serde_json::Value {
    let sense = sense(entry.kind);
    let tier = fact(entry, "tier").and_then(Tier::parse);
    let severity = tier.map_or(sense.severity, |tier| match tier {
        Tier::Safe | Tier::Low => sense.severity,
        Tier::Medium => sense.severity.max(3),
        Tier::High => sense.severity.max(4),
        Tier::Critical => 5,
    });
    let agent = entry.agent.as_deref();
    let mut api = json!({ "operation": entry.kind.as_str(), "service": { "name": "countersign" } });
    if let (Some(request), Some(api)) = (entry.request.as_deref(), api.as_object_mut()) {
        api.insert("request".to_owned(), json!({ "uid": request }));
    }
    let facts = facts(entry).and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let mut event = json!({
        "activity_id": sense.activity,
        "activity_name": entry.kind.as_str(),
        "actor": ocsf_actor(entry),
        "api": api,
        "category_uid": 6,
        "class_uid": CLASS,
        "metadata": ocsf_metadata(seq),
        "severity_id": severity,
        "src_endpoint": { "name": agent.unwrap_or("countersign") },
        "status_id": if sense.failed { 2 } else { 1 },
        "time": entry.at,
        "type_uid": CLASS * 100 + sense.activity,
        "unmapped": {
            "digest": entry.digest.map(|digest| digest.to_string()),
            "policy": entry.policy.to_string(),
            "facts": facts,
        },
    });
    if let (Some(action), Some(event)) = (sense.action, event.as_object_mut()) {
        event.insert("action_id".to_owned(), json!(action));
        event.insert("disposition_id".to_owned(), json!(action));
    }
    if let (Some(tool), Some(event)) = (fact(entry, "tool"), event.as_object_mut()) {
        event.insert("resources".to_owned(), json!([{ "name": tool, "type": "tool" }]));
    }
    event
}

fn ocsf_actor(entry: &Entry<'_>) -> Map<String, serde_json::Value> {
    let mut actor = Map::new();
    let agent = entry.agent.as_deref().unwrap_or("countersign");
    actor.insert("application".to_owned(), json!({ "name": agent }));
    if let Some(person) = entry.person.as_deref() {
        actor.insert("user".to_owned(), json!({ "name": person }));
    }
    if let Some(session) = entry.session.as_deref() {
        actor.insert("session".to_owned(), json!({ "uid": session }));
    }
    actor
}

fn ocsf_metadata(seq: u64) -> serde_json::Value {
    json!({
        "version": OCSF,
        "uid": seq.to_string(),
        "sequence": seq,
        "log_name": "countersign ledger",
        "profiles": ["security_control"],
        "product": {
            "name": "Countersign",
            "vendor_name": "Countersign",
            "version": env!("CARGO_PKG_VERSION"),
        },
    })
}

#[cfg(test)]
mod tests {
    use countersign_json::canonical::Digest;

    use super::*;

    fn entry(kind: EntryKind) -> Entry<'static> {
        let mut entry = Entry::new(1_794_700_799_999, kind, Digest::of(b"policy"));
        entry.agent = Some("bot".into());
        entry.facts = vec![
            ("tier".into(), Value::String("CRITICAL".into())),
            ("tool".into(), Value::String("=cmd|' /C calc'!A0".into())),
        ];
        entry
    }

    #[test]
    fn no_cell_is_a_formula() {
        for bad in ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "\n=1", "＝1", "|x", "%x"] {
            assert!(cell(Some(bad)).starts_with("\"'"), "{bad}");
        }
        assert_eq!(cell(Some("plain")), "plain");
        assert_eq!(cell(Some("a,\"b\"")), "\"a,\"\"b\"\"\"");
        assert_eq!(cell(None), "");
        let mut one = entry(EntryKind::Deny);
        one.agent = Some("=HYPERLINK(\"http://x\")".into());
        let line = Format::Csv.line(7, &one.encode().unwrap()).unwrap();
        assert!(line.starts_with("7,2026-11-14T23:59:59.999Z,deny,\"'=HYPER"), "{line}");
    }

    #[test]
    fn json_lines_are_the_bytes_that_were_hashed() {
        let text = entry(EntryKind::Ask).encode().unwrap();
        assert_eq!(Format::Jsonl.line(0, &text).unwrap(), text);
        assert!(Format::Jsonl.line(0, &text.replace("ask", "asked")).is_err());
    }

    #[test]
    fn ocsf_has_what_the_class_requires() {
        for kind in EntryKind::ALL {
            let line = Format::Ocsf.line(3, &entry(*kind).encode().unwrap()).unwrap();
            assert!(!line.contains('\n'));
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            for name in [
                "activity_id",
                "actor",
                "api",
                "category_uid",
                "class_uid",
                "metadata",
                "severity_id",
                "src_endpoint",
                "time",
                "type_uid",
            ] {
                assert!(!event[name].is_null(), "{kind:?}: {name}");
            }
            let activity = event["activity_id"].as_u64().unwrap();
            assert_eq!(event["type_uid"].as_u64().unwrap(), 600_300 + activity);
        }
        let denied = ocsf(3, &entry(EntryKind::Deny));
        assert_eq!(
            (denied["action_id"].as_u64(), denied["severity_id"].as_u64()),
            (Some(2), Some(5))
        );
        assert_eq!(ocsf(3, &entry(EntryKind::Approve))["disposition_id"], 1);
    }
}
