//! Chats that are set up, and such that are refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::config::{DaemonConfig, Paths};

const KEY: &str = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

fn read(text: &str) -> Result<DaemonConfig, String> {
    let paths = Paths { config: "/c".into(), state: "/s".into(), runtime: "/r".into() };
    DaemonConfig::read(text, &paths).map_err(|error| error.to_string())
}

fn file(folder: &tempfile::TempDir, mode: u32) -> PathBuf {
    let path = folder.path().join(format!("token-{mode:o}"));
    std::fs::write(&path, "a-token-that-nobody-may-see\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn chat_channels_can_be_in_an_escalation_level_and_approve_up_to_high() {
    let folder = tempfile::tempdir().unwrap();
    let token = file(&folder, 0o600);
    let text = format!(
        "[escalation]\nfirst = [\"d\", \"s\"]\n\
         [channels.d]\nkind = \"discord\"\ntoken_file = {token:?}\nchannel = \"1\"\n\
         public_key = \"{KEY}\"\n\
         [channels.s]\nkind = \"slack\"\ntoken_file = {token:?}\nchannel = \"C1\"\n\
         signing_secret_file = {token:?}\n"
    );
    let rules = read(&text).unwrap().rules;
    for (name, kind) in [("d", "discord"), ("s", "slack")] {
        let chat = rules.channels.get(name).unwrap();
        assert_eq!(chat.settings.kind(), kind);
        assert_eq!(chat.limits.approves.label(), "HIGH");
        assert!(chat.limits.details);
    }
    assert!(!format!("{rules:?}").contains("nobody-may-see"), "a token is in the rules");
}

#[test]
fn invalid_chat_channels_are_rejected_with_their_problem() {
    let folder = tempfile::tempdir().unwrap();
    let (good, exposed) = (file(&folder, 0o600), file(&folder, 0o644));
    let discord = format!("kind = \"discord\"\ntoken_file = {good:?}\nchannel = \"1\"\n");
    let slack = format!(
        "kind = \"slack\"\ntoken_file = {good:?}\nchannel = \"C1\"\n\
         signing_secret_file = {good:?}\n"
    );
    assert!(read(&format!("[channels.ops]\n{discord}")).is_ok());
    assert!(read(&format!("[channels.ops]\n{slack}")).is_ok());
    let zero = "0".repeat(64);
    for (text, problem) in [
        ("kind = \"discord\"".to_owned(), "token_file"),
        (format!("kind = \"discord\"\ntoken_file = {good:?}"), "channel"),
        ("kind = \"discord\"\ntoken_file = \"t\"\nchannel = \"1\"".to_owned(), "absolute"),
        (format!("kind = \"discord\"\ntoken_file = {exposed:?}\nchannel = \"1\""), "chmod 600"),
        (discord.replace("\"1\"", "\"general\""), "channel"),
        (format!("{discord}public_key = \"abc\""), "public_key"),
        (format!("{discord}public_key = \"{zero}\""), "public_key"),
        (format!("{discord}base_url = \"http://discord.example/\""), "base_url"),
        (format!("{discord}timeout_seconds = 61"), "timeout_seconds"),
        (format!("{discord}approves = \"CRITICAL\""), "approves"),
        (format!("{discord}signing_secret_file = {good:?}"), "signing_secret_file"),
        ("kind = \"slack\"".to_owned(), "token_file"),
        (format!("kind = \"slack\"\ntoken_file = {good:?}"), "signing_secret_file"),
        (slack.replace("\"C1\"", "\"#general\""), "channel"),
        (slack.replace("token-600\"\nchannel", "token-644\"\nchannel"), "chmod 600"),
        (format!("{slack}base_url = \"ftp://x/\"\nallow_private = true"), "base_url"),
        (format!("{slack}public_key = \"{KEY}\""), "public_key"),
    ] {
        let said = read(&format!("[channels.ops]\n{text}")).map(|_| ()).unwrap_err();
        assert!(said.contains("channels.ops") && said.contains(problem), "{text}: {said}");
    }
}
