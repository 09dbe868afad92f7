//! The tables of tools, and what must hold for every call.

use std::borrow::Cow;

use proptest::prelude::*;

use super::action_tier;
use crate::assess::{Assessment, assess};
use crate::call::{Annotations, Call};
use crate::context::Context;
use crate::effect::Effect;
use crate::verdict::{Policy, Verdict};
use countersign_json::Value;
use countersign_types::tier::{Points, Tier};

/// Names of arguments that tools have, and some that no table lists.
pub(super) const KEYS: [&str; 62] = [
    "command",
    "cmd",
    "commands",
    "command_line",
    "command2",
    "second_command",
    "steps",
    "script",
    "scripts",
    "code",
    "input",
    "text",
    "stdin",
    "data",
    "content",
    "payload",
    "body",
    "query",
    "source",
    "expression",
    "line",
    "lines",
    "run",
    "exec",
    "task",
    "tasks",
    "options",
    "config",
    "description",
    "justification",
    "reason",
    "args",
    "argv",
    "arguments",
    "params",
    "program",
    "executable",
    "binary",
    "path",
    "file",
    "cwd",
    "workdir",
    "shell",
    "interpreter",
    "language",
    "timeout",
    "session_id",
    "env",
    "environment",
    "pre_command",
    "post_command",
    "before",
    "after",
    "on_success",
    "hook",
    "prompt",
    "message",
    "url",
    "host",
    "user",
    "x",
    "名",
];

/// Those of them whose array is a program with its words.
pub(super) const ARGV_KEYS: [&str; 10] = [
    "command",
    "cmd",
    "command_line",
    "argv",
    "args",
    "arguments",
    "script",
    "line",
    "run",
    "exec",
];

fn value(json: serde_json::Value) -> Value<'static> {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(b),
        serde_json::Value::Number(n) => Value::Number(Cow::Owned(n.to_string())),
        serde_json::Value::String(s) => Value::String(Cow::Owned(s)),
        serde_json::Value::Array(list) => Value::Array(list.into_iter().map(value).collect()),
        serde_json::Value::Object(map) => {
            Value::Object(map.into_iter().map(|(k, v)| (Cow::Owned(k), value(v))).collect())
        }
    }
}

fn call(tool: &str, json: &str) -> Call<'static> {
    Call {
        tool: Cow::Owned(tool.to_owned()),
        arguments: value(serde_json::from_str(json).expect(json)),
        agent: None,
        session: None,
        context: Context::default(),
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    }
}

pub(super) fn assessed(tool: &str, json: &str) -> Assessment {
    assess(&call(tool, json), &Policy::default())
}

/// The same for a tool that an agent itself runs.
pub(super) fn assessed_at(tool: &str, json: &str, host: Option<&'static str>) -> Assessment {
    let mut call = call(tool, json);
    call.context.host = host;
    assess(&call, &Policy::default())
}

fn tier(tool: &str, json: &str) -> Tier {
    assessed(tool, json).tier
}

#[test]
fn the_seed_s_actions_keep_their_tiers() {
    for (name, tier) in [
        ("send_email", Tier::High),
        ("send_message", Tier::Medium),
        ("send_signal", Tier::High),
        ("send_telegram", Tier::Medium),
        ("send_discord", Tier::Medium),
        ("post_social", Tier::High),
        ("crypto_tx", Tier::Critical),
        ("sign_transaction", Tier::Critical),
        ("access_wallet", Tier::Critical),
        ("modify_balance", Tier::Critical),
        ("install_software", Tier::High),
        ("modify_system_config", Tier::High),
        ("modify_firewall", Tier::Critical),
        ("add_ssh_key", Tier::Critical),
        ("create_user", Tier::Critical),
        ("access_contacts", Tier::Medium),
        ("access_calendar", Tier::Low),
        ("read_private_files", Tier::Medium),
        ("upload_data", Tier::High),
        ("share_credentials", Tier::Critical),
        ("open_port", Tier::High),
        ("modify_dns", Tier::High),
        ("expose_service", Tier::Critical),
    ] {
        assert_eq!(action_tier(name), tier, "{name}");
        assert_eq!(self::tier(name, "{}"), tier, "{name} as a tool");
    }
    let rest = [("read", Tier::Safe), ("delete", Tier::Low), ("deploy", Tier::Medium)];
    for (name, tier) in rest.into_iter().chain([("format", Tier::Critical), ("auth", Tier::High)]) {
        assert_eq!(action_tier(name), tier, "{name}");
    }
    assert_eq!(action_tier("something_else"), Tier::Medium);
    assert_eq!(action_tier("  Read "), Tier::Safe);
}

#[test]
fn unknown_tools_are_read_by_their_verbs_and_nouns() {
    for (tool, wanted) in [
        ("get_weather", Tier::Safe),
        ("AcmeCrmSearchCustomers", Tier::Safe),
        ("email_search", Tier::Safe),
        ("share_search_results", Tier::Medium),
        ("AcmeSmartLockViewHistory", Tier::Safe),
        ("create_note", Tier::Low),
        ("createTodoItem", Tier::Low),
        ("update_policy", Tier::High),
        ("delete_comment", Tier::Medium),
        ("delete_database", Tier::High),
        ("search_and_delete", Tier::Medium),
        ("acme_unlock_front_door", Tier::High),
        ("pay_supplier", Tier::High),
        ("transfer_to_support_agent", Tier::Medium),
        ("get_password", Tier::High),
        ("search_passwords", Tier::Low),
        ("check_password_strength", Tier::Low),
        ("frobnicate", Tier::Medium),
        ("", Tier::Medium),
        ("sendemailnow", Tier::Medium),
        ("dispatch_ambulance", Tier::High),
        ("load_balancer_delete", Tier::Medium),
        ("AcmeWatchSendMessage", Tier::Medium),
        ("BestBuySearchProducts", Tier::Safe),
        ("AcmeTrafficControlListJunctions", Tier::Safe),
        ("list_delete_requests", Tier::Safe),
        ("order_status", Tier::Safe),
        ("order_get_details", Tier::Safe),
        ("post_status", Tier::Medium),
        ("email_report", Tier::Medium),
        ("email_search_results", Tier::Medium),
        ("deposit_check", Tier::High),
        ("acme_list_merge_requests", Tier::Safe),
        ("acme_check_deploy_status", Tier::Safe),
        ("acme_mailing_list_add_person", Tier::Medium),
        ("acme getacmeissue", Tier::Safe),
        ("checkpointer", Tier::Medium),
        ("mark_all_notifications_read", Tier::Medium),
    ] {
        assert_eq!(tier(tool, "{}"), wanted, "{tool}: {:?}", assessed(tool, "{}"));
    }
    assert_eq!(assessed("frobnicate", "{}").verdict, Verdict::Ask);
    assert_eq!(assessed("get_weather", "{}").verdict, Verdict::Allow);
}

#[test]
fn crisis_decisions_wait_in_every_mode() {
    let policy = Policy { mode: crate::verdict::Mode::Observe, ..Policy::default() };
    let named = ["end_conversation", "share_location", "notify_contacts", "AcmeRequestAmbulance"];
    for tool in named {
        let seen = assess(&call(tool, "{}"), &policy);
        assert!(seen.crisis_sensitive && seen.verdict == Verdict::Ask, "{tool}: {seen:?}");
    }
    assert_eq!(assess(&call("show_crisis_resources", "{}"), &policy).verdict, Verdict::Allow);
}

#[test]
fn findings_say_which_argument_they_mean() {
    let seen = assessed("read_multiple_files", r#"{"paths":["a","/etc/shadow"]}"#);
    let found = seen.reasons.iter().find(|r| r.code == "path.read").expect("found");
    assert_eq!(found.argument, "/paths/1");
    let seen =
        assessed("post_note_to_web", r#"{"x":{"y~/":"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}"#);
    let found = seen.reasons.iter().find(|r| r.code == "secret.leaves").expect("found");
    assert_eq!((found.argument.as_ref(), found.span.map(|s| s.start)), ("/x/y~0~1", Some(0)));
}

#[test]
fn what_cannot_be_read_is_never_safe() {
    for (tool, json) in [
        ("Bash", r#"{"script_text":"rm -rf /"}"#),
        ("shell", r#"{"command":["ls",{"x":1}]}"#),
        ("apply_patch", r#"{"what":"*** Delete File: /etc/passwd"}"#),
        ("execute_code", r#"{"code":{"a":"import os"}}"#),
        ("execute_code", r#"{"program_text":"import os; os.remove('x')"}"#),
        ("get_thing", &format!("{}1{}", r#"{"a":"#.repeat(40), "}".repeat(40))),
    ] {
        let seen = assessed(tool, json);
        assert!(seen.tier >= Tier::Medium && seen.verdict == Verdict::Ask, "{json}: {seen:?}");
    }
    assert_eq!(tier("Bash", r#"{"restart":true}"#), Tier::Safe);
    // A patch that is none may be anything to the tool that is given it.
    let seen = assessed("patch", r#"{"command":"rm -rf /"}"#);
    assert_eq!(seen.verdict, Verdict::Ask, "{seen:?}");
}

#[test]
fn everything_at_once_is_more_than_one_thing() {
    assert_eq!(tier("delete_comment", r#"{"id":"all"}"#), Tier::High);
    assert_eq!(tier("delete_comment", r#"{"ids":["1","2","3","4","5"]}"#), Tier::High);
    assert_eq!(tier("delete_comment", r#"{"ids":["1"]}"#), Tier::Medium);
    assert_eq!(tier("send_message", r#"{"to":"@everyone","message":"hi"}"#), Tier::High);
    for all in ["Everyone", "@ALL", "<!channel>", "<!here>", "every\u{200b}one", "\u{ff20}Here"] {
        let call = format!(r#"{{"to":"{all}","message":"hi"}}"#);
        assert_eq!(tier("send_message", &call), Tier::High, "{all}");
    }
    let ten: Vec<String> = (0..10).map(|n| format!("\"p{n}@x.example\"")).collect();
    let many = assessed("send_message", &format!(r#"{{"to":[{}]}}"#, ten.join(",")));
    assert_eq!((many.tier, many.impact.recipients.count), (Tier::High, 10));
}

#[test]
fn a_path_is_read_from_the_working_directory() {
    let mut inside = call("write_file", r#"{"path":"passwd"}"#);
    assert_eq!(assess(&inside, &Policy::default()).tier, Tier::Low);
    inside.context.cwd = Some("/etc");
    assert_eq!(assess(&inside, &Policy::default()).tier, Tier::Critical);
    let listed_nowhere = r#"{"target_path":"/home/me/.ssh/authorized_keys"}"#;
    assert_eq!(tier("Write", listed_nowhere), Tier::Critical);
}

#[test]
fn another_agent_s_workspace_and_own_settings_weigh_more() {
    let mut theirs = call("write_file", r#"{"path":"/srv/agents/beta/notes.md"}"#);
    theirs.agent = Some(Cow::Borrowed("alpha"));
    let seen = assess(&theirs, &Policy::default());
    assert_eq!(seen.points, Points(150));
    theirs.agent = Some(Cow::Borrowed("beta"));
    assert_eq!(assess(&theirs, &Policy::default()).points, Points(100));
    let own = assessed("write_file", r#"{"path":"/home/me/.claude/settings.json"}"#);
    assert_eq!(own.tier, Tier::High);
    assert!(own.reasons.iter().any(|r| r.code == "behaviour.own_settings"));
}

#[test]
fn a_hidden_tool_is_assessed_as_itself() {
    let deep =
        r#"{"tool_name":"use_mcp_tool","arguments":{"tool_name":"send_email","arguments":{}}}"#;
    assert_eq!(tier("use_mcp_tool", deep), Tier::High);
    assert_eq!(tier("acme_get_or_do", deep), Tier::High);
    let endless = (0..40).fold("{}".to_owned(), |inner, _| {
        format!(r#"{{"tool_name":"use_mcp_tool","arguments":{inner}}}"#)
    });
    assert_eq!(assessed("use_mcp_tool", &endless).verdict, Verdict::Ask);
}

fn json() -> impl Strategy<Value = Value<'static>> {
    let key = prop_oneof![
        "[a-z_]{0,8}",
        prop::sample::select(vec!["to", "amount", "path", "url", "command", "sql", "action"])
            .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        "-?[0-9]{1,6}(\\.[0-9]{1,3})?".prop_map(|n| Value::Number(Cow::Owned(n))),
        any::<String>().prop_map(|s| Value::String(Cow::Owned(s))),
        "[a-z/.~*@ ]{0,24}".prop_map(|s| Value::String(Cow::Owned(s))),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| {
                Value::Object(map.into_iter().map(|(k, v)| (Cow::Owned(k), v)).collect())
            }),
        ]
    })
}

fn tool_name() -> impl Strategy<Value = String> {
    const VERBS: [&str; 8] =
        ["get", "send", "delete", "create", "pay", "Read", "write_file", "mcp__x__query"];
    const NOUNS: [&str; 8] =
        ["_note", "_email", "Patient", "", "__user", ".door", "_todo", "Money"];
    prop_oneof![
        any::<String>(),
        "[A-Za-z0-9_./:-]{0,40}",
        (prop::sample::select(&VERBS[..]), prop::sample::select(&NOUNS[..]))
            .prop_map(|(verb, noun)| format!("{verb}{noun}")),
    ]
}

#[test]
fn the_name_of_a_server_does_not_make_its_tools_harmless() {
    for server in ["search", "weather", "get", "readonly"] {
        let seen = assess(&call(&format!("mcp__{server}__zorp"), "{}"), &Policy::default());
        assert_eq!((seen.tier, seen.verdict), (Tier::Medium, Verdict::Ask), "{server}");
    }
    let seen = assess(&call("mcp__shop__search_items", "{}"), &Policy::default());
    assert_eq!(seen.verdict, Verdict::Allow);
}

fn made(tool: &str, arguments: &Value<'static>) -> Call<'static> {
    Call { arguments: arguments.clone(), ..call(tool, "{}") }
}

proptest! {
    #[test]
    fn nothing_panics_and_the_same_call_is_assessed_the_same(name in tool_name(), args in json()) {
        let call = made(&name, &args);
        let once = assess(&call, &Policy::default());
        let twice = assess(&call, &Policy::default());
        let text = |seen: &Assessment| serde_json::to_string(seen).unwrap();
        prop_assert_eq!(text(&once), text(&twice));
        let sum: u16 = once.reasons.iter().map(|r| r.weight.0).sum();
        prop_assert_eq!(sum.min(400), once.points.0);
    }

    #[test]
    fn annotations_and_claims_never_lower(
        name in tool_name(),
        args in json(),
        hints in any::<[Option<bool>; 4]>(),
        claimed in prop::sample::select(Tier::ALL.to_vec()),
    ) {
        let plain = made(&name, &args);
        let before = assess(&plain, &Policy::default()).points;
        let [read_only, destructive, idempotent, open_world] = hints;
        let annotations = Annotations { read_only, destructive, idempotent, open_world };
        let hinted = Call { annotations, ..plain.clone() };
        prop_assert!(assess(&hinted, &Policy::default()).points >= before);
        let claiming = Call { claimed: Some(claimed), ..plain };
        let after = assess(&claiming, &Policy::default());
        prop_assert!(after.points >= before && after.tier >= claimed);
    }

    #[test]
    fn a_recipient_or_an_amount_never_lowers(name in tool_name(), args in json()) {
        let Value::Object(mut members) = args else { return Ok(()) };
        members.retain(|(key, _)| key != "to" && key != "amount");
        let before = assess(&made(&name, &Value::Object(members.clone())), &Policy::default());
        members.push((Cow::Borrowed("to"), Value::String(Cow::Borrowed("a@b.example"))));
        let one = assess(&made(&name, &Value::Object(members.clone())), &Policy::default());
        members.push((Cow::Borrowed("amount"), Value::Number(Cow::Borrowed("500"))));
        let two = assess(&made(&name, &Value::Object(members)), &Policy::default());
        prop_assert!(before.points <= one.points && one.points <= two.points);
    }
}

#[test]
fn effects_follow_the_seed_s_classes() {
    use crate::effect::EffectClass::{A, B, C, D};
    for (tool, class) in [
        ("read_file", A),
        ("search_files", A),
        ("browser_snapshot", A),
        ("patch", B),
        ("write_file", B),
        ("todo", B),
        ("send_message", C),
        ("cronjob", C),
        ("delegate_task", C),
        ("crypto_tx", D),
        ("end_conversation", D),
    ] {
        assert_eq!(assessed(tool, "{}").side_effect_class, class, "{tool}");
    }
    assert!(assessed("pay_supplier", r#"{"amount":5}"#).effects.has(Effect::Money));
}

#[test]
fn an_address_of_a_file_is_that_file() {
    let tier = |tool: &str, json: &str| assess(&call(tool, json), &Policy::default()).tier;
    for address in [
        "file:///home/me/.ssh/id_rsa",
        "FILE:///home/me/.ssh/id_rsa",
        "file:/home/me/.ssh/id_rsa",
        "file://localhost/home/me/%2essh/id_rsa",
        "vault:///home/me/.ssh/id_rsa",
    ] {
        for (tool, name) in [("Read", "file_path"), ("mcp__x__read_file", "path"), ("fetch", "url")]
        {
            let json = format!("{{\"{name}\":\"{address}\"}}");
            assert!(tier(tool, &json) >= Tier::High, "{tool} {json}");
        }
    }
    assert_eq!(tier("Read", r#"{"file_path":"FILE:///srv/app/notes.txt"}"#), Tier::Safe);
    assert!(tier("fetch", r#"{"url":"https://x.example/.ssh/id_rsa"}"#) <= Tier::Low);
}
