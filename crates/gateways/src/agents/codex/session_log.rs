//! The session logs of Codex: `sessions/YEAR/MONTH/DAY/rollout-….jsonl`.

use countersign_json::Value;

use crate::session_log::{LogRecords, SessionLogFormat, function_call, no_index, says, text};

pub static FORMAT: SessionLogFormat = SessionLogFormat {
    folder: |scope| scope.folder("CODEX_HOME", ".codex").join("sessions"),
    extensions: &["jsonl"],
    markers: &["_call\"", "_call_output\"", "\"session_meta\"", "\"turn_context\""],
    recognizes,
    read,
    is_index: no_index,
};

/// The tools that run a command. Its hook names all of them `Bash`.
const SHELLS: [&str; 6] =
    ["shell", "local_shell", "container.exec", "shell_command", "exec_command", "unified_exec"];
const REJECTED: [&str; 2] = ["exec command rejected by user", "patch rejected by user"];
const RECORDS: [&str; 4] = ["session_meta", "response_item", "event_msg", "turn_context"];

fn recognizes(value: &Value<'_>) -> bool {
    let kind = text(value, "type").unwrap_or_default();
    (RECORDS.contains(&kind) && value.get("payload").is_some())
        || (kind == "function_call" && value.get("call_id").is_some())
}

fn read(value: &Value<'_>, records: &mut LogRecords) {
    // Older versions wrote the items without an envelope.
    let item = value.get("payload").unwrap_or(value);
    let id = text(item, "call_id");
    match (text(value, "type"), text(item, "type")) {
        (Some("session_meta"), _) => records.enter(text(item, "id"), text(item, "cwd")),
        (Some("turn_context"), _) => records.enter(None, text(item, "cwd")),
        (_, Some("function_call")) => add(id, item, records),
        (_, Some("local_shell_call")) => {
            let action = item.get("action").unwrap_or(&Value::Null);
            let (tool, arguments) = renamed("local_shell", action.reborrow());
            in_folder(action, records, |records| records.add(id, &tool, &arguments));
        }
        (_, Some("custom_tool_call")) => {
            let name = text(item, "name").unwrap_or_default();
            let member = if name == "apply_patch" { "command" } else { "input" };
            let input = text(item, "input").unwrap_or_default();
            let arguments = Value::Object(vec![(member.into(), Value::String(input.into()))]);
            records.add(id, name, &arguments);
        }
        (_, Some("function_call_output" | "custom_tool_call_output")) => {
            let output = item.get("output");
            let inner = output.and_then(|output| output.get("content"));
            if says(output, &REJECTED) || says(inner, &REJECTED) {
                records.reject(id);
            }
        }
        _ => {}
    }
}

fn add(id: Option<&str>, item: &Value<'_>, records: &mut LogRecords) {
    let before = records.calls.len();
    let mut folder = None;
    function_call(id, item, records, |name, arguments| {
        folder = work_folder(&arguments).map(str::to_owned);
        renamed(name, arguments)
    });
    if let (Some(call), Some(folder)) = (records.calls.get_mut(before), folder) {
        call.cwd = Some(folder);
    }
}

/// Adds a call in the folder that its arguments name.
fn in_folder(arguments: &Value<'_>, records: &mut LogRecords, add: impl FnOnce(&mut LogRecords)) {
    let before = records.calls.len();
    add(records);
    if let (Some(call), Some(folder)) = (records.calls.get_mut(before), work_folder(arguments)) {
        call.cwd = Some(folder.to_owned());
    }
}

fn work_folder<'v>(arguments: &'v Value<'_>) -> Option<&'v str> {
    let named = ["workdir", "working_directory"].iter().find_map(|name| text(arguments, name));
    named.filter(|folder| folder.starts_with('/'))
}

/// The call as the hook would show it.
fn renamed(name: &str, arguments: Value<'_>) -> (String, Value<'static>) {
    if !SHELLS.contains(&name) {
        return (name.to_owned(), arguments.into_owned());
    }
    let given = arguments.get("command").or_else(|| arguments.get("cmd"));
    let command = match given {
        Some(Value::String(command)) => command.clone().into_owned(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            command_line(&words)
        }
        _ => return (name.to_owned(), arguments.into_owned()),
    };
    ("Bash".to_owned(), Value::Object(vec![("command".into(), Value::String(command.into()))]))
}

/// The command in `bash -lc COMMAND`, or the words as one command.
fn command_line(words: &[&str]) -> String {
    if let [shell, "-lc" | "-c", command] = words
        && ["bash", "sh", "zsh"].contains(&shell.rsplit('/').next().unwrap_or_default())
    {
        return (*command).to_owned();
    }
    let plain = |word: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./=:,+@%".contains(&b);
        !word.is_empty() && word.bytes().all(is_plain)
    };
    let quoted = words.iter().map(|word| {
        if plain(word) { (*word).to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
