//! Configurations that are read, and such that are refused.

use std::path::PathBuf;

use countersign_risk::verdict::Mode;
use countersign_types::tier::Tier;
use countersign_types::time::Millis;

use super::*;

fn paths() -> Paths {
    Paths { config: "/c".into(), state: "/s".into(), runtime: "/r".into() }
}

fn refused(text: &str) -> String {
    DaemonConfig::read(text, &paths()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = DaemonConfig::read("", &paths()).unwrap();
    assert_eq!(config.agents.to_string(), "127.0.0.1:6000");
    assert_eq!(config.people.to_string(), "127.0.0.1:6001");
    assert_eq!(config.rules.mode, Mode::Enforce);
    assert_eq!(config.rules.times.default_timeout, Millis::from_seconds(300));
    assert_eq!(config.store, PathBuf::from("/s/countersign.db"));
}

#[test]
fn gate_tests_have_an_interval_or_are_off() {
    let every =
        |text: &str| DaemonConfig::read(text, &paths()).map(|config| config.test_gates_every);
    let hours = |hours: u32| Ok(Some(Millis::from_seconds(hours * 3600)));
    assert_eq!(every(""), hours(6));
    assert_eq!(every("[doctor]\nevery_hours = 168"), hours(168));
    assert_eq!(every("[doctor]\nevery_hours = 0"), Ok(None));
    assert!(every("[doctor]\nevery_hours = 169").unwrap_err().to_string().contains("168"));
    assert!(every("[doctor]\nminutes = 1").is_err());
}

#[test]
fn the_example_is_the_default() {
    let example = DaemonConfig::read(EXAMPLE, &paths()).unwrap();
    let usual = DaemonConfig::read("", &paths()).unwrap();
    assert_eq!(format!("{example:?}"), format!("{usual:?}"));
    let others: Vec<String> = commented_out(EXAMPLE)
        .into_iter()
        .filter(|(section, line)| {
            let read = DaemonConfig::read(&format!("{section}\n{line}\n"), &paths());
            read.map_or(true, |config| format!("{config:?}") != format!("{usual:?}"))
        })
        .map(|(section, line)| format!("{section} {}", line.split(" = ").next().unwrap()))
        .collect();
    assert_eq!(others, NO_DEFAULTS, "a commented-out line is neither the default nor an example");
}

/// Commented-out lines that show an example, because there is no default or it depends on the
/// machine.
const NO_DEFAULTS: [&str; 20] = [
    "[listen] socket",
    "[listen] socket_group",
    "[listen] tls_certificate",
    "[listen] tls_key",
    "[listen] url",
    "[times.deadlines] medium_seconds",
    "[times.deadlines] high_seconds",
    "[times.deadlines] critical_seconds",
    "[store] path",
    "[ledger] witness_file",
    "[ledger] witness_webhook",
    "[ledger] witness_git",
    "[crisis] country",
    "[guard] family",
    "[guard] url",
    "[guard] model",
    "[guard] api_key_file",
    "[whitelist] file",
    "[escalation] time_zone",
    "[log] otlp",
];

/// The commented-out settings of the sections that are there, with their section.
fn commented_out(text: &str) -> Vec<(String, String)> {
    let (mut section, mut is_there, mut found) = (String::new(), true, Vec::new());
    for line in text.lines() {
        let commented = line.strip_prefix("# ");
        let setting = commented.unwrap_or(line);
        if setting.starts_with('[') && setting.ends_with(']') {
            (section, is_there) = (setting.to_owned(), commented.is_none());
        } else if let Some((name, _)) = setting.split_once(" = ")
            && is_there
            && commented.is_some()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        {
            found.push((section.clone(), setting.to_owned()));
        }
    }
    assert!(found.len() > 50, "{found:?}");
    found
}

#[test]
fn invalid_values_are_rejected_with_their_field() {
    for (text, field) in [
        ("mode = \"off\"", "mode"),
        ("[listen]\nagents = \"6000\"", "listen.agents"),
        ("[times]\nusual_seconds = 0", "times.usual_seconds"),
        ("[times]\nlongest_seconds = 60\nusual_seconds = 61", "times.usual_seconds"),
        ("[quorum]\ncritical = 0", "quorum.critical"),
        ("[assessment]\nlow_confidence = 7", "assessment.low_confidence"),
        ("[assessment]\nlow_confidence = nan", "assessment.low_confidence"),
        ("[crisis]\ncountry = \"XX\"", "crisis.country"),
        ("[escalation]\nfirst = [\"carrier-pigeon\"]", "carrier-pigeon"),
        ("[store]\npath = \"db\"", "store.path"),
        ("[review]\nmax_tier = \"HIGH\"", "review.max_tier"),
        ("[review]\neffects = [\"send\"]", "review.effects"),
        ("[review]\npath_classes = [\"credentials\"]", "review.path_classes"),
        ("[review]\nwindow_hours = 0", "review.window_hours"),
        ("[review]\nmax_mib = 1000", "review.max_mib"),
        ("[assurance]\nhigh = \"reached\"", "assurance.high"),
        ("[assurance]\ncritical = \"linked\"", "assurance.critical"),
        ("[assurance]\nmedium = \"sure\"", "assurance.medium"),
        ("[surprise]", "surprise"),
        ("mode = 3", "mode"),
    ] {
        assert!(refused(text).contains(field), "{text}: {}", refused(text));
    }
}

#[test]
fn former_names_are_accepted() {
    let read = |text: &str| DaemonConfig::read(text, &paths()).unwrap().rules;
    let former = "[ladder]\nfirst = [\"desktop\"]\n[times]\nhigh_climb_seconds = 7\n\
                  [judgement]\nlow_confidence = 0.25\n";
    let current = "[escalation]\nfirst = [\"desktop\"]\n[times]\nhigh_escalation_seconds = 7\n\
                   [assessment]\nlow_confidence = 0.25\n";
    assert_eq!(read(former).escalation, read(current).escalation);
    let sure = |text: &str| read(text).assessment.low_confidence;
    assert_eq!(sure(former), sure(current));
    let times = |text: &str| format!("{:?}", read(text).times);
    assert_eq!(times(former), times(current));
    assert_ne!(times(former), times(""));
    // Both names at once would be ambiguous.
    refused("[ladder]\nfirst = []\n[escalation]\nfirst = []\n");
}

#[test]
fn the_hash_changes_with_the_rules() {
    let hash = |text| DaemonConfig::read(text, &paths()).unwrap().rules.hash;
    assert_eq!(hash(""), hash("mode = \"enforce\""));
    assert_ne!(hash(""), hash("mode = \"observe\""));
    assert_ne!(hash(""), hash("[quorum]\nhigh = 2"));
}

/// A secret file of this mode, and the line that names it.
fn secret(folder: &std::path::Path, mode: u32) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(format!("secret-{mode:o}"));
    std::fs::write(&path, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    format!("secret_file = \"{}\"", path.display())
}

#[test]
fn invalid_channels_are_rejected_with_their_problem() {
    let folder = tempfile::tempdir().unwrap();
    let (good, exposed) = (secret(folder.path(), 0o600), secret(folder.path(), 0o644));
    let url = "url = \"https://example.org/\"";
    for (text, problem) in [
        ("url = \"x\"".to_owned(), "kind"),
        ("kind = \"pigeon\"".to_owned(), "`pigeon`"),
        ("kind = \"webhook\"".to_owned(), "url"),
        (format!("kind = \"webhook\"\n{url}"), "secret_file"),
        (format!("kind = \"webhook\"\n{url}\n{exposed}"), "chmod 600"),
        (format!("kind = \"webhook\"\n{url}\nsecret_file = \"s\""), "absolute"),
        (format!("kind = \"webhook\"\nurl = \"ftp://x/\"\n{good}"), "https://"),
        (format!("kind = \"webhook\"\nurl = \"https://a:b@c/\"\n{good}"), "password"),
        (format!("kind = \"webhook\"\n{url}\n{good}\nsecert = 1"), "secert"),
        (format!("kind = \"webhook\"\n{url}\n{good}\ntimeout_seconds = 0"), "timeout_seconds"),
        (format!("kind = \"webhook\"\n{url}\n{good}\nmax_tier = \"huge\""), "max_tier"),
        ("kind = \"command\"".to_owned(), "program"),
        ("kind = \"command\"\nprogram = []".to_owned(), "program"),
        ("kind = \"command\"\nprogram = [\"ls\"]".to_owned(), "absolute"),
        ("kind = \"terminal\"\nper_minute = 0".to_owned(), "per_minute"),
        ("kind = \"terminal\"\napproves = \"CRITICAL\"".to_owned(), "approves"),
        ("kind = \"terminal\"\ndetails = 1".to_owned(), "details"),
        ("kind = \"terminal\"\ncrisis_words = true".to_owned(), "crisis_words"),
        ("kind = \"terminal\"\nurl = \"x\"".to_owned(), "url"),
    ] {
        let said = refused(&format!("[channels.ops]\n{text}"));
        assert!(said.contains("channels.ops") && said.contains(problem), "{text}: {said}");
    }
    assert!(refused("[channels.terminal]\nkind = \"desktop\"").contains("channels.terminal"));
    assert!(refused("[channels.Ops]\nkind = \"desktop\"").contains("channels.Ops"));
    assert!(refused("[listen]\nurl = \"approve.example.org\"").contains("listen.url"));
}

#[test]
fn invalid_phone_and_email_channels_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let good = secret(folder.path(), 0o600);
    let file = good.split_once(" = ").unwrap().1;
    let exposed = secret(folder.path(), 0o644);
    let exposed = exposed.split_once(" = ").unwrap().1;
    let account = format!("AC{}", "0".repeat(32));
    let sms = |rest: &str| {
        format!("kind = \"sms\"\naccount = \"{account}\"\ntoken_file = {file}\n{rest}")
    };
    let numbers = "from = \"+15550000001\"\nto = \"+15550000002\"\n";
    let email = |rest: &str| {
        format!("kind = \"email\"\nfrom = \"g@example.org\"\nto = [\"a@example.org\"]\n{rest}")
    };
    let login = "server = \"a.example\"\nuser = \"u\"\n";
    let ntfy = |rest: &str| format!("kind = \"ntfy\"\ntopic = \"k3TqfX9\"\n{rest}");
    let hook = "hook_url = \"https://example.org/hooks/ops\"\n";
    for (text, problem) in [
        ("kind = \"ntfy\"".to_owned(), "topic"),
        ("kind = \"ntfy\"\ntopic = \"a/b\"".to_owned(), "topic"),
        (ntfy("url = \"ntfy.sh\""), "url"),
        (ntfy(&format!("token_file = {exposed}")), "chmod 600"),
        (ntfy(hook), "go together"),
        (ntfy(&format!("{hook}{good}")), "go together"),
        (ntfy("person = \"ana\""), "go together"),
        ("kind = \"email\"".to_owned(), "server"),
        (email("server = \"mail.example.org\"\ntls = \"none\""), "this machine"),
        (email("server = \"mail.example.org\"\ntls = \"ssl\""), "starttls"),
        (email("server = \"mail.example.org\"\nuser = \"u\""), "go together"),
        (email("server = \"https://mail.example.org\""), "server"),
        (email(&format!("{login}password_file = {exposed}")), "chmod 600"),
        (email(&format!("{login}oauth2_token_file = {exposed}")), "chmod 600"),
        (
            email(&format!(
                "server = \"a.example\"\nuser = \"u\"\npassword_file = {exposed}\n\
                 oauth2_token_file = {exposed}"
            )),
            "exclude each other",
        ),
        ("kind = \"sms\"".to_owned(), "token_file"),
        (sms(""), "from"),
        (sms("from = \"555\"\nto = \"+15550000002\""), "from"),
        (sms("from = \"+15550000001\"\nto = \"mum\""), "to"),
        (sms(&format!("{numbers}base_url = \"x\"")), "base_url"),
        (sms(&format!("{numbers}approves = \"CRITICAL\"")), "approves"),
        (
            format!(
                "kind = \"webhook\"\nurl = \"https://x/\"\n{good}\ncallback_secret_file = \"/s\""
            ),
            "callback",
        ),
    ] {
        let said = refused(&format!("[channels.ops]\n{text}"));
        assert!(said.contains("channels.ops") && said.contains(problem), "{text}: {said}");
    }
    for text in [
        sms(numbers),
        sms(&format!("{numbers}{hook}details = true")),
        email("server = \"localhost\"\ntls = \"none\""),
        email(&format!("server = \"a.example\"\nuser = \"u\"\npassword_file = {file}")),
        ntfy(""),
        ntfy(&format!("{hook}{good}\nperson = \"ana\"\ntoken_file = {file}")),
        format!("kind = \"webhook\"\nurl = \"https://x/\"\n{good}\ncallback = true"),
    ] {
        let text = format!("[escalation]\nfirst = [\"ops\"]\n[channels.ops]\n{text}\n");
        let rules = DaemonConfig::read(&text, &paths()).unwrap().rules;
        assert!(!format!("{rules:?}").contains("MfKQ9r8GKYqr"), "a secret is in the rules");
    }
}

#[test]
fn a_configured_channel_can_be_in_an_escalation_level() {
    let folder = tempfile::tempdir().unwrap();
    let secret = secret(folder.path(), 0o600);
    let text = format!(
        "[escalation]\nfirst = [\"ops\", \"desktop\"]\n[channels.ops]\nkind = \"webhook\"\n\
         url = \"https://example.org/\"\n{secret}\nmax_tier = \"HIGH\"\nper_minute = 5\n"
    );
    let rules = DaemonConfig::read(&text, &paths()).unwrap().rules;
    let ops = rules.channels.get("ops").unwrap();
    assert_eq!((ops.settings.kind(), ops.limits.per_minute), ("webhook", 5));
    assert_eq!(ops.limits.max_tier, Tier::High);
    assert_eq!(rules.inbox, "http://127.0.0.1:6001");
    assert!(!format!("{rules:?}").contains("MfKQ9r8GKYqr"), "a secret is in the rules");
}

/// A channel on Telegram with these further lines.
fn telegram(folder: &std::path::Path, lines: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("telegram.token");
    std::fs::write(&path, "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let token = path.display();
    format!("[channels.tg]\nkind = \"telegram\"\ntoken_file = \"{token}\"\n{lines}")
}

#[test]
fn telegram_settings_are_read_or_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let read = |lines: &str| DaemonConfig::read(&telegram(folder.path(), lines), &paths());
    let rules = read("chat = 77").unwrap().rules;
    let tg = rules.channels.get("tg").unwrap();
    assert_eq!((tg.settings.kind(), tg.limits.approves), ("telegram", Tier::High));
    assert!(tg.limits.details && tg.limits.interrupts);
    assert!(!format!("{rules:?}").contains("AAAAAA"), "a secret is in the rules");
    let token = folder.path().join("telegram.token").display().to_string();
    let hook = "hook = \"https://approve.example.org/hooks/tg\"";
    for (lines, problem) in [
        (String::new(), "chat"),
        ("chat = 0".to_owned(), "chat"),
        ("chat = \"@people\"".to_owned(), "number"),
        ("chat = 1\nbase_url = \"http://127.0.0.1:9\"".to_owned(), "base_url"),
        ("chat = 1\nmode = \"carrier\"".to_owned(), "mode"),
        ("chat = 1\nmode = \"webhook\"".to_owned(), "secret_file"),
        (format!("chat = 1\n{hook}"), "mode"),
        (format!("chat = 1\nmode = \"webhook\"\n{hook}\nsecret_file = \"s\""), "absolute"),
        // Not a secret as Telegram wants it: there is a colon in the token.
        (format!("chat = 1\nmode = \"webhook\"\n{hook}\nsecret_file = \"{token}\""), "A-Z"),
        ("chat = 1\ntokn_file = \"x\"".to_owned(), "tokn_file"),
    ] {
        let said = read(&lines).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("channels.tg") && said.contains(problem), "{lines}: {said}");
    }
    let local = "chat = -5\nbase_url = \"http://127.0.0.1:9\"\nallow_private = true";
    assert!(read(local).is_ok());
}

#[test]
fn an_address_beyond_this_machine_needs_tls() {
    for address in ["0.0.0.0:6001", "[::]:6001", "192.0.2.1:6001", "[::ffff:192.0.2.1]:6001"] {
        for name in ["agents", "people"] {
            let open = format!("[listen]\n{name} = \"{address}\"\n");
            assert!(refused(&open).contains(&format!("listen.{name}")), "{address}");
            for allowed in ["tls = true", "tls_proxy = true"] {
                let text = format!("{open}{allowed}\n");
                assert!(DaemonConfig::read(&text, &paths()).is_ok(), "{text}");
            }
        }
    }
    let mut config = DaemonConfig::read("", &paths()).unwrap();
    config.agents = "192.0.2.1:6000".parse().unwrap();
    assert!(config.check_exposure().is_err());
}

#[test]
fn a_certificate_comes_with_its_key_and_with_tls() {
    let files = "tls_certificate = \"/c.pem\"\ntls_key = \"/k.pem\"\n";
    let config = DaemonConfig::read(&format!("[listen]\ntls = true\n{files}"), &paths()).unwrap();
    assert!(matches!(config.tls, Some(TlsConfig::Files { .. })));
    for text in [
        "tls = true\ntls_key = \"/k.pem\"",
        "tls = true\ntls_certificate = \"/c.pem\"",
        "tls = true\ntls_certificate = \"c.pem\"\ntls_key = \"/k.pem\"",
        "tls = true\ntls_proxy = true",
        files,
        "hosts = [\"a b\"]",
        "hosts = [\"https://gate.example.org\"]",
    ] {
        assert!(!refused(&format!("[listen]\n{text}\n")).is_empty(), "{text}");
    }
    let text = "[listen]\ntls = true\nhosts = [\"gate.example.org\"]\n";
    let config = DaemonConfig::read(text, &paths()).unwrap();
    assert_eq!(config.rules.inbox, "https://gate.example.org:6001");
}
