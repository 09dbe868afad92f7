//! Installs and removes every agent's gate in scratch homes, next to the person's own settings.

mod random_settings;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::{self, AppliedEdit, InstallAction, plan_edits};
use super::record::InstallRecord;
use super::yaml::WordInList;
use super::*;
use crate::agents::tests::fixture;
use crate::agents::{AGENTS, AgentDescriptor, named};
use crate::status::{self, AgentStatus, Protection};

/// A scratch home folder with a program of ours.
struct ScratchUser {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl ScratchUser {
    fn new() -> ScratchUser {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("bin")).unwrap();
        let program = home.join("bin/countersign");
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let variables = [("HOME", home.display().to_string()), ("PATH", String::new())];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        ScratchUser { variables: variables.into(), folder }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn place(&self, project: Option<&Path>) -> InstallScope {
        let variables = self.variables.clone();
        InstallScope::new(project, move |name| variables.get(name).cloned()).unwrap()
    }

    fn command(&self) -> HookCommand {
        let program = self.home().join("bin/countersign").display().to_string();
        HookCommand { program, patience: 600, daemon_key: Some("/home/ana/daemon.pub".to_owned()) }
    }

    fn record(&self) -> InstallRecord {
        InstallRecord::open(&self.folder.path().join("state")).unwrap()
    }

    fn run(
        &self,
        agent: &AgentDescriptor,
        place: &InstallScope,
        action: InstallAction,
    ) -> Result<Vec<AppliedEdit>, InstallError> {
        self.run_with(agent, place, action, &self.command())
    }

    fn run_with(
        &self,
        agent: &AgentDescriptor,
        place: &InstallScope,
        action: InstallAction,
        command: &HookCommand,
    ) -> Result<Vec<AppliedEdit>, InstallError> {
        let mut record = self.record();
        let (edits, key) = (agent.file_edits(place, command)?, place.key(agent.name));
        let planned = plan_edits(&key, &edits, action, &record)?;
        let done = plan::apply(&key, &planned, action, command, &mut record)?;
        if action == InstallAction::Uninstall {
            plan::forget(&key, &edits, &mut record)?;
        }
        Ok(done)
    }

    fn status(&self, agent: &'static AgentDescriptor, place: &InstallScope) -> AgentStatus {
        status::inspect(agent, place, &self.command(), &self.record())
    }

    /// Every file and folder below the home folder, with its text.
    fn everything(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path.clone(), fs::read_to_string(&path).ok());
            }
        }
        found
    }
}

/// The file of the person that is edited, if there is one.
fn shared(agent: &AgentDescriptor, place: &InstallScope, command: &HookCommand) -> Option<PathBuf> {
    let edits = agent.file_edits(place, command).unwrap();
    let mut within = edits.iter().filter(|edit| matches!(edit.ownership, Ownership::Part(_)));
    within.next().map(|edit| edit.path.clone())
}

#[test]
fn installing_and_removing_restores_every_file() {
    for agent in AGENTS {
        for sample in &fixture(agent).settings {
            let house = ScratchUser::new();
            let place = house.place(None);
            if let Some(path) =
                shared(agent, &place, &house.command()).filter(|_| !sample.is_empty())
            {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, sample).unwrap();
                fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            }
            let before = house.everything();
            let done = house.run(agent, &place, InstallAction::Install).unwrap();
            assert!(!done.is_empty(), "{}", agent.name);
            let once = house.everything();
            assert_ne!(before, once, "{}", agent.name);
            let again = house.run(agent, &place, InstallAction::Install).unwrap();
            assert_eq!((again, &house.everything()), (vec![], &once), "{} {sample}", agent.name);
            house.run(agent, &place, InstallAction::Uninstall).unwrap();
            assert_eq!(house.everything(), before, "{} {sample}", agent.name);
            assert_eq!(house.run(agent, &place, InstallAction::Uninstall).unwrap(), vec![]);
        }
    }
}

#[test]
fn without_the_record_only_our_own_part_goes() {
    let value = |text: &str| {
        json::JsonDocument::open(text, json::JsonSyntax::Json5).unwrap().at(&[]).unwrap_or_default()
    };
    for agent in AGENTS {
        for sample in &fixture(agent).settings {
            let house = ScratchUser::new();
            for edit in agent.file_edits(&house.place(None), &house.command()).unwrap() {
                let Ownership::Part(part) = &edit.ownership else { continue };
                if edit.path.extension().is_none_or(|ending| ending != "json") {
                    continue;
                }
                let put = part.apply(sample).unwrap();
                assert_eq!(part.apply(&put).unwrap(), put, "{sample}");
                let taken = part.remove(&put).unwrap();
                assert_eq!(part.remove(&taken).unwrap(), taken, "{sample}");
                for comment in ["// mine", "/* keep */", "// after", "// Google", "// my bot"] {
                    assert_eq!(sample.contains(comment), put.contains(comment), "{put}");
                    assert_eq!(sample.contains(comment), taken.contains(comment), "{taken}");
                }
                // Lists and objects that were empty may be gone; nothing else may.
                assert_eq!(filled(value(&taken)), filled(value(sample)), "{sample}\n{taken}");
                assert!(!taken.contains("countersign"), "{taken}");
            }
        }
    }
}

/// Without what is empty, and without the version that a file of hooks must have.
fn filled(value: Value) -> Value {
    let empty = |value: &Value| {
        value.as_object().is_some_and(serde_json::Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, filled(value)))
            .filter(|(name, value)| !empty(value) && name != "version")
            .collect(),
        other => other,
    }
}

#[test]
fn a_later_change_of_the_person_stays() {
    let (house, agent) = (ScratchUser::new(), named("claude").unwrap());
    let place = house.place(None);
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    house.run(agent, &place, InstallAction::Install).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"opus\",", "\"sonnet\", \"env\": {},")).unwrap();
    let done = house.run(agent, &place, InstallAction::Uninstall).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\n  \"model\": \"sonnet\", \"env\": {}\n}\n");
    let kept = done.first().unwrap().backup.clone().unwrap();
    assert!(fs::read_to_string(kept).unwrap().contains("countersign"), "a backup of the last text");
}

#[test]
fn a_file_that_cannot_be_edited_is_not_changed() {
    for agent in AGENTS {
        for text in &fixture(agent).invalid_settings {
            check_unchanged(agent, text);
        }
    }
}

fn check_unchanged(agent: &'static AgentDescriptor, text: &str) {
    let house = ScratchUser::new();
    let place = house.place(None);
    let path = shared(agent, &place, &house.command()).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let before = house.everything();
    let error = house.run(agent, &place, InstallAction::Install).unwrap_err().to_string();
    assert!(error.contains("nothing was written"), "{text}: {error}");
    assert_eq!(house.everything(), before, "{text}");
}

#[test]
fn an_older_hook_is_replaced_and_the_persons_own_stays() {
    let (house, agent) = (ScratchUser::new(), named("claude").unwrap());
    let place = house.place(None);
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = r#"{ "hooks": { "PreToolUse": [ { "matcher": "*", "hooks": [
        { "type": "command", "command": "mine.sh" },
        { "type": "command", "command": "/old/countersign hook claude --patience 5" } ] } ] } }"#;
    fs::write(&path, old).unwrap();
    assert_eq!(house.status(agent, &place).state, Protection::Unprotected);
    house.run(agent, &place, InstallAction::Install).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("/old/") && text.contains("mine.sh"), "{text}");
    assert_eq!(text.matches("--patience").count(), 1);
    assert_eq!(house.status(agent, &place).state, Protection::Protected);
    // The text before had ours in it: going back means without any of command, not to that text.
    house.run(agent, &place, InstallAction::Uninstall).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("mine.sh") && !text.contains("countersign"), "{text}");
}

#[test]
fn another_patience_or_program_is_written_over_and_the_first_text_comes_back() {
    let (house, agent) = (ScratchUser::new(), named("gemini").unwrap());
    let place = house.place(None);
    let path = house.home().join(".gemini/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{ \"a\": 1 }\n").unwrap();
    let before = house.everything();
    house.run(agent, &place, InstallAction::Install).unwrap();
    let later = HookCommand { patience: 30, ..house.command() };
    house.run_with(agent, &place, InstallAction::Install, &later).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("--patience 30"));
    assert_eq!(house.status(agent, &place).state, Protection::Protected, "as it was written then");
    house.run(agent, &place, InstallAction::Uninstall).unwrap();
    assert_eq!(house.everything(), before);
}

#[test]
fn a_project_has_its_own_files_and_home_stays_untouched() {
    for agent in AGENTS {
        let house = ScratchUser::new();
        let project = house.folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let place = house.place(Some(&project));
        let before = house.everything();
        let Ok(done) = house.run(agent, &place, InstallAction::Install) else {
            assert!(!agent.setup.per_project, "{}", agent.name);
            continue;
        };
        let project = fs::canonicalize(project).unwrap();
        assert!(done.iter().all(|done| done.path.starts_with(&project)), "{}", agent.name);
        assert_eq!(house.everything(), before);
        house.run(agent, &place, InstallAction::Uninstall).unwrap();
        assert_eq!(fs::read_dir(project).unwrap().count(), 0, "{}", agent.name);
    }
}

#[test]
fn a_link_in_a_project_is_not_written_through_where_the_file_is_ours() {
    let (house, agent) = (ScratchUser::new(), named("copilot").unwrap());
    let project = house.folder.path().join("project");
    fs::create_dir_all(project.join(".github/hooks")).unwrap();
    let victim = house.home().join(".profile");
    fs::write(&victim, "export A=1\n").unwrap();
    std::os::unix::fs::symlink(&victim, project.join(".github/hooks/countersign.json")).unwrap();
    let place = house.place(Some(&project));
    assert!(house.run(agent, &place, InstallAction::Install).is_err());
    assert!(house.run(agent, &place, InstallAction::Uninstall).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "export A=1\n");
}

#[test]
fn a_file_that_changes_after_the_plan_is_not_written_over() {
    let (house, agent) = (ScratchUser::new(), named("claude").unwrap());
    let (place, command, mut record) = (house.place(None), house.command(), house.record());
    let edits = agent.file_edits(&place, &command).unwrap();
    let edits = plan_edits(agent.name, &edits, InstallAction::Install, &record).unwrap();
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"newer\": true}").unwrap();
    let error = plan::apply(agent.name, &edits, InstallAction::Install, &command, &mut record);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("changed meanwhile"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"newer\": true}");
}

#[test]
fn settings_that_disable_a_gate_are_reported() {
    let house = ScratchUser::new();
    let place = house.place(None);
    let why = |name: &str| house.status(named(name).unwrap(), &place).why.join("; ");
    let stand = |name: &str| house.status(named(name).unwrap(), &place).state;
    assert_eq!(stand("claude"), Protection::Absent);
    fs::create_dir(house.home().join(".claude")).unwrap();
    assert_eq!(stand("claude"), Protection::NoGate);
    for name in ["claude", "gemini", "cursor", "copilot", "codex"] {
        house.run(named(name).unwrap(), &place, InstallAction::Install).unwrap();
    }
    for name in ["claude", "gemini", "cursor", "copilot"] {
        assert_eq!(stand(name), Protection::Protected, "{name}: {}", why(name));
    }
    // Without Codex here no one can have trusted the hook.
    assert_eq!(stand("codex"), Protection::Unprotected);
    assert!(why("codex").contains("does not trust"));

    let change = |file: &str, from: &str, to: &str| {
        let path = house.home().join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    };
    change(".claude/settings.json", "{", "{ \"disableAllHooks\": true, ");
    assert!(why("claude").contains("disableAllHooks"), "{}", why("claude"));
    change(".claude/settings.json", "{", "{ // a comment, and Claude Code reads none of it\n");
    assert!(why("claude").contains("cannot read it"), "{}", why("claude"));
    change(".gemini/settings.json", "{", "{ \"hooksConfig\": { \"disabled\": [\"countersign\"] },");
    assert!(why("gemini").contains("hooksConfig.disabled"), "{}", why("gemini"));
    change(".cursor/hooks.json", "\"failClosed\": true", "\"failClosed\": false");
    assert!(why("cursor").contains("was changed"), "{}", why("cursor"));
    change(".copilot/hooks/countersign.json", "86400", "1");
    assert!(why("copilot").contains("was changed"), "{}", why("copilot"));
    for name in ["claude", "gemini", "cursor", "copilot"] {
        assert_eq!(stand(name), Protection::Unprotected, "{name}");
    }

    // The program that the agent starts is gone, or is another one.
    let house = ScratchUser::new();
    let place = house.place(None);
    let agent = named("gemini").unwrap();
    let elsewhere = house.home().join("bin/countersign-old");
    fs::copy(house.home().join("bin/countersign"), &elsewhere).unwrap();
    let command =
        HookCommand { program: elsewhere.display().to_string(), patience: 9, daemon_key: None };
    house.run_with(agent, &place, InstallAction::Install, &command).unwrap();
    assert_eq!(house.status(agent, &place).state, Protection::Protected, "the same program twice");
    fs::write(&elsewhere, "#!/bin/sh\nexit 0 # harmless\n").unwrap();
    assert_eq!(house.status(agent, &place).state, Protection::Unprotected);
    fs::remove_file(&elsewhere).unwrap();
    assert!(house.status(agent, &place).why.join("").contains("is missing or not executable"));
}

#[test]
fn yaml_lines_are_inserted_in_the_right_place() {
    let list = WordInList { top: "plugins", list: "enabled", word: "countersign" };
    for (before, after) in [
        ("", "plugins:\n  enabled:\n    - countersign\n"),
        ("a: 1", "a: 1\nplugins:\n  enabled:\n    - countersign"),
        ("plugins:\n  enabled: []\n", "plugins:\n  enabled: [countersign]\n"),
        ("plugins:\n  enabled: [ a ] # x\n", "plugins:\n  enabled: [ a , countersign] # x\n"),
        (
            "plugins:\n    enabled:\n    - a\n    # last\nb: 1\n",
            "plugins:\n    enabled:\n    - a\n    - countersign\n    # last\nb: 1\n",
        ),
        (
            "plugins:\n  # none yet\n  enabled:\nb: 1\n",
            "plugins:\n  # none yet\n  enabled:\n    - countersign\nb: 1\n",
        ),
        (
            "plugins:\n  disabled:\n    - a\n",
            "plugins:\n  enabled:\n    - countersign\n  disabled:\n    - a\n",
        ),
    ] {
        let put = list.apply(before).unwrap();
        assert_eq!(put, after);
        assert_eq!(list.apply(&put).unwrap(), put);
        let words = list.words(&list.remove(&put).unwrap()).unwrap();
        assert!(!words.contains(&"countersign".to_owned()), "{put}");
    }
}

#[test]
fn plugins_are_embedded_with_the_shared_source() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let shared = fs::read_to_string(plugins.join("shared/ask.js")).unwrap();
    let gated_by_plugin = AGENTS.iter().filter_map(|agent| Some((agent.name, agent.plugin?)));
    for (name, files) in gated_by_plugin {
        assert!(!files.is_empty(), "{name}");
        for (file, text) in files {
            let own = fs::read_to_string(plugins.join(name).join(file)).unwrap();
            let is_script = Path::new(file).extension().is_some_and(|ending| ending == "js");
            let expected = if is_script { format!("{own}\n{shared}") } else { own };
            assert_eq!(*text, expected, "{name}/{file}");
        }
        // Neither tests nor documents.
        assert!(files.iter().all(|(file, _)| *file != "check" && *file != "README.md"), "{name}");
    }
}
