//! The calls of the simulation.

use countersign_json::Value;
use countersign_json::canonical::CallDigest;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::session_answer::SessionQuestion;
use countersign_risk::verdict::Policy;
use countersign_workflow::grant::{CallProfile, ShownCommand};

const REPOSITORIES: [Option<&str>; 3] = [Some("/srv/shop"), Some("/srv/blog"), None];
const COMMANDS: [&str; 26] = [
    "frobnicate task 1",
    "frobnicate task 2",
    "frobnicate task 3",
    "frobnicate task 4 --force",
    "frobnicate drop 1",
    "frobnicate sync src/a",
    "frobnicate sync src/b",
    "frobnicate sync ../b",
    "sudo frobnicate task 1",
    "npm publish",
    "npm publish packages/a",
    "npm publish packages/b",
    "npm publish --registry=https://x.example packages/a",
    "npm install left-pad",
    "npm install right-pad",
    "gh pr merge 12",
    "gh pr merge 13",
    "git push origin main",
    "git push --force origin main",
    "rm -rf src/a",
    "rm -rf -- src/b",
    "rm -rf /",
    "mkfs.ext4 /dev/sda1",
    "curl https://api.example.com/a",
    "curl https://evil.example/a",
    "ls -la",
];
/// Calls of tools, the last samples.
pub const TOOLS: [&str; 17] = [
    r#"{"tool":"mcp__shop__place_order","arguments":{"amount":3,"currency":"USD"}}"#,
    r#"{"tool":"mcp__shop__place_order","arguments":{"amount":"4.5","currency":"USD"}}"#,
    r#"{"tool":"mcp__shop__place_order","arguments":{"amount":9,"currency":"USD"}}"#,
    r#"{"tool":"mcp__shop__place_order","arguments":{"amount":3,"currency":"EUR"}}"#,
    r#"{"tool":"mcp__shop__place_order","arguments":{"amount":"3 USD","currency":"USD"}}"#,
    r#"{"tool":"mcp__shop__place_order","arguments":{"currency":"USD"}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/shop","title":"Bug"}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/shop","title":"Two"}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/pay","title":"Bug"}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/shop","title":"x; rm -rf /"}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/shop","title":"Bug","cc":1}}"#,
    r#"{"tool":"mcp__hub__create_issue","arguments":{"repo":"acme/shop"}}"#,
    r#"{"tool":"send_message","arguments":{"to":"cy","text":"hi"}}"#,
    r#"{"tool":"send_message","arguments":{"to":"cy","text":"hi","file":"/etc/passwd"}}"#,
    r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"}}"#,
    r#"{"tool":"send_email","arguments":{"to":"ana@example.org","body":"hi"}}"#,
    r#"{"tool":"crypto_tx","arguments":{"to":"0xabc","amount":"1"}}"#,
];

/// A call with its assessment.
pub struct Sample {
    pub arguments: Value<'static>,
    pub digest: CallDigest,
    pub seen: Assessment,
    pub repository: Option<&'static str>,
    pub command: Option<ShownCommand>,
    pub question: SessionQuestion,
}

fn sample(text: String, repository: Option<&'static str>, command: Option<&str>) -> Sample {
    let text: &'static str = Box::leak(text.into_boxed_str());
    let value = countersign_json::parse(text).unwrap();
    let call = Call::from_json(&value).unwrap();
    let seen = assess(&call, &Policy::default());
    let digest = digest(&call, b"");
    let command = command.map(|command| ShownCommand {
        tool: "bash".to_owned(),
        command: command.to_owned(),
        folder: repository.map(ToOwned::to_owned),
        profile: CallProfile::of(&seen),
    });
    let mut question = SessionQuestion::new(&seen, &digest);
    if let Some(folder) = repository {
        question = question.in_repository(&seen, folder.to_owned());
    }
    let arguments = countersign_json::parse(text).unwrap();
    let arguments = arguments.get("arguments").unwrap().clone();
    Sample { arguments, digest, seen, repository, command, question }
}

/// All calls.
pub fn samples() -> Vec<Sample> {
    let shell = |command: &str, repository: Option<&'static str>| {
        let cwd = repository.map_or(String::new(), |folder| format!(r#","cwd":"{folder}""#));
        let text = format!(r#"{{"tool":"bash","arguments":{{"command":"{command}"}}{cwd}}}"#);
        sample(text, repository, Some(command))
    };
    let shells = REPOSITORIES
        .into_iter()
        .flat_map(|repository| COMMANDS.into_iter().map(move |command| shell(command, repository)));
    shells.chain(TOOLS.into_iter().map(|text| sample(text.to_owned(), None, None))).collect()
}
