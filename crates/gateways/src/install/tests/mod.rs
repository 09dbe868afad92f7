//! Every agent in scratch homes: in and out again, among people's own lines.

mod chance;
mod samples;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::{self, Aim, Done};
use super::record::Record;
use super::status::{self, Stand};
use super::yaml::WordInList;
use super::*;
use crate::agents::{AGENTS, Agent, named};
use samples::samples;

/// A home folder that nobody else has, with a program of ours in it.
struct House {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("bin")).unwrap();
        let program = home.join("bin/countersign");
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let variables = [("HOME", home.display().to_string()), ("PATH", String::new())];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        House { variables: variables.into(), folder }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn place(&self, project: Option<&Path>) -> Place {
        let variables = self.variables.clone();
        Place::new(project, move |name| variables.get(name).cloned()).unwrap()
    }

    fn ours(&self) -> Ours {
        Ours { program: self.home().join("bin/countersign").display().to_string(), patience: 600 }
    }

    fn record(&self) -> Record {
        Record::open(&self.folder.path().join("state")).unwrap()
    }

    fn run(&self, agent: &Agent, place: &Place, aim: Aim) -> Result<Vec<Done>, Refused> {
        self.run_with(agent, place, aim, &self.ours())
    }

    fn run_with(
        &self,
        agent: &Agent,
        place: &Place,
        aim: Aim,
        ours: &Ours,
    ) -> Result<Vec<Done>, Refused> {
        let mut record = self.record();
        let (pieces, key) = (agent.pieces(place, ours)?, place.key(agent.name));
        let edits = plan::edits(&key, &pieces, aim, &record)?;
        let done = plan::apply(&key, &edits, aim, ours, &mut record)?;
        if aim == Aim::Uninstall {
            plan::forget(&key, &pieces, &mut record)?;
        }
        Ok(done)
    }

    fn stand(&self, agent: &'static Agent, place: &Place) -> status::Seen {
        status::look(agent, place, &self.ours(), &self.record())
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

/// The agents whose plugin this tree carries, and all that need none.
fn agents() -> impl Iterator<Item = &'static Agent> {
    let empty = |name: &str| PLUGINS.iter().any(|(it, files)| *it == name && files.is_empty());
    AGENTS.into_iter().filter(move |agent| !empty(agent.name))
}

/// The file of the person that ours goes into, where there is one.
fn shared(agent: &Agent, place: &Place, ours: &Ours) -> Option<PathBuf> {
    let pieces = agent.pieces(place, ours).unwrap();
    let mut within = pieces.iter().filter(|piece| matches!(piece.share, Share::Within(_)));
    within.next().map(|piece| piece.path.clone())
}

#[test]
fn in_and_out_again_leaves_every_file_as_it_was() {
    for agent in agents() {
        for sample in samples(agent.name) {
            let house = House::new();
            let place = house.place(None);
            if let Some(path) = shared(agent, &place, &house.ours()).filter(|_| !sample.is_empty())
            {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, sample).unwrap();
                fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            }
            let before = house.everything();
            let done = house.run(agent, &place, Aim::Install).unwrap();
            assert!(!done.is_empty(), "{}", agent.name);
            let once = house.everything();
            assert_ne!(before, once, "{}", agent.name);
            let again = house.run(agent, &place, Aim::Install).unwrap();
            assert_eq!((again, &house.everything()), (vec![], &once), "{} {sample}", agent.name);
            house.run(agent, &place, Aim::Uninstall).unwrap();
            assert_eq!(house.everything(), before, "{} {sample}", agent.name);
            assert_eq!(house.run(agent, &place, Aim::Uninstall).unwrap(), vec![]);
        }
    }
}

#[test]
fn without_the_record_only_our_own_part_goes() {
    let value = |text: &str| {
        json::Document::open(text, json::Kind::Five).unwrap().at(&[]).unwrap_or_default()
    };
    for agent in agents().filter(|agent| agent.name != "hermes") {
        for sample in samples(agent.name) {
            let house = House::new();
            for piece in agent.pieces(&house.place(None), &house.ours()).unwrap() {
                let Share::Within(part) = &piece.share else { continue };
                if piece.path.extension().is_none_or(|ending| ending != "json") {
                    continue;
                }
                let put = part.put(sample).unwrap();
                assert_eq!(part.put(&put).unwrap(), put, "{sample}");
                let taken = part.take(&put).unwrap();
                assert_eq!(part.take(&taken).unwrap(), taken, "{sample}");
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
fn what_a_person_writes_later_stays() {
    let (house, agent) = (House::new(), named("claude").unwrap());
    let place = house.place(None);
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    house.run(agent, &place, Aim::Install).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"opus\",", "\"sonnet\", \"env\": {},")).unwrap();
    let done = house.run(agent, &place, Aim::Uninstall).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\n  \"model\": \"sonnet\", \"env\": {}\n}\n");
    let kept = done.first().unwrap().kept.clone().unwrap();
    assert!(fs::read_to_string(kept).unwrap().contains("countersign"), "a backup of the last text");
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let broken = [
        ("claude", "{ \"hooks\": "),
        ("claude", "[]"),
        ("claude", "{ // Claude Code passes over a file with a comment in it\n}"),
        ("claude", "{\"a\": 1,}"),
        ("claude", "{\"hooks\": []}"),
        ("claude", "{\"hooks\": {\"PreToolUse\": {}}}"),
        ("claude", "{\"hooks\": {}, \"hooks\": {}}"),
        ("claude", "{\"a\": [{\"b\": 1, \"b\": 2}]}"),
        ("codex", "{ // Codex reads no comments\n}"),
        ("gemini", "{\"hooks\": 7}"),
        ("cursor", "{\"version\": 2}"),
        ("cursor", "{\"a\" \"b\"}"),
        ("openclaw", "{plugins: []}"),
        ("hermes", "plugins: {enabled: [a]}\n"),
        ("hermes", "plugins:\n  enabled: a\n"),
        ("hermes", "plugins:\n- a\n"),
        ("hermes", "\"plugins\":\n  enabled: []\n"),
        ("hermes", "plugins:\n  enabled:\n    - {a: b}\n"),
        ("hermes", "a: 1\n---\nb: 2\n"),
        ("hermes", "{plugins: {enabled: []}}\n"),
        ("hermes", "plugins:\n  enabled: [a,\n    b]\n"),
    ];
    for (name, text) in broken {
        let Some(agent) = agents().find(|agent| agent.name == name) else { continue };
        let house = House::new();
        let place = house.place(None);
        let path = shared(agent, &place, &house.ours()).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let before = house.everything();
        let refused = house.run(agent, &place, Aim::Install).unwrap_err().to_string();
        assert!(refused.contains("nothing was written"), "{text}: {refused}");
        assert_eq!(house.everything(), before, "{text}");
    }
}

#[test]
fn an_older_hook_of_ours_is_replaced_and_the_persons_own_stays_beside_it() {
    let (house, agent) = (House::new(), named("claude").unwrap());
    let place = house.place(None);
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = r#"{ "hooks": { "PreToolUse": [ { "matcher": "*", "hooks": [
        { "type": "command", "command": "mine.sh" },
        { "type": "command", "command": "/old/countersign hook claude --patience 5" } ] } ] } }"#;
    fs::write(&path, old).unwrap();
    assert_eq!(house.stand(agent, &place).state, Stand::Open);
    house.run(agent, &place, Aim::Install).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("/old/") && text.contains("mine.sh"), "{text}");
    assert_eq!(text.matches("--patience").count(), 1);
    assert_eq!(house.stand(agent, &place).state, Stand::Gated);
    // The text before had ours in it: going back means without any of ours, not to that text.
    house.run(agent, &place, Aim::Uninstall).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("mine.sh") && !text.contains("countersign"), "{text}");
}

#[test]
fn another_patience_or_program_is_written_over_and_the_first_text_comes_back() {
    let (house, agent) = (House::new(), named("gemini").unwrap());
    let place = house.place(None);
    let path = house.home().join(".gemini/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{ \"a\": 1 }\n").unwrap();
    let before = house.everything();
    house.run(agent, &place, Aim::Install).unwrap();
    let later = Ours { patience: 30, ..house.ours() };
    house.run_with(agent, &place, Aim::Install, &later).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("--patience 30"));
    assert_eq!(house.stand(agent, &place).state, Stand::Gated, "as it was written then");
    house.run(agent, &place, Aim::Uninstall).unwrap();
    assert_eq!(house.everything(), before);
}

#[test]
fn a_project_has_its_own_files_and_home_stays_untouched() {
    for agent in agents() {
        let house = House::new();
        let project = house.folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let place = house.place(Some(&project));
        let before = house.everything();
        let Ok(done) = house.run(agent, &place, Aim::Install) else {
            assert!(["openclaw", "hermes"].contains(&agent.name), "{}", agent.name);
            continue;
        };
        let project = fs::canonicalize(project).unwrap();
        assert!(done.iter().all(|done| done.path.starts_with(&project)), "{}", agent.name);
        assert_eq!(house.everything(), before);
        house.run(agent, &place, Aim::Uninstall).unwrap();
        assert_eq!(fs::read_dir(project).unwrap().count(), 0, "{}", agent.name);
    }
}

#[test]
fn a_link_in_a_project_is_not_written_through_where_the_file_is_ours() {
    let (house, agent) = (House::new(), named("copilot").unwrap());
    let project = house.folder.path().join("project");
    fs::create_dir_all(project.join(".github/hooks")).unwrap();
    let victim = house.home().join(".profile");
    fs::write(&victim, "export A=1\n").unwrap();
    std::os::unix::fs::symlink(&victim, project.join(".github/hooks/countersign.json")).unwrap();
    let place = house.place(Some(&project));
    assert!(house.run(agent, &place, Aim::Install).is_err());
    assert!(house.run(agent, &place, Aim::Uninstall).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "export A=1\n");
}

#[test]
fn a_file_that_changes_after_the_plan_is_not_written_over() {
    let (house, agent) = (House::new(), named("claude").unwrap());
    let (place, ours, mut record) = (house.place(None), house.ours(), house.record());
    let pieces = agent.pieces(&place, &ours).unwrap();
    let edits = plan::edits(agent.name, &pieces, Aim::Install, &record).unwrap();
    let path = house.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"newer\": true}").unwrap();
    let refused = plan::apply(agent.name, &edits, Aim::Install, &ours, &mut record).unwrap_err();
    assert!(refused.to_string().contains("changed meanwhile"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"newer\": true}");
}

#[test]
fn what_turns_a_gate_off_is_seen() {
    let house = House::new();
    let place = house.place(None);
    let why = |name: &str| house.stand(named(name).unwrap(), &place).why.join("; ");
    let stand = |name: &str| house.stand(named(name).unwrap(), &place).state;
    assert_eq!(stand("claude"), Stand::Absent);
    fs::create_dir(house.home().join(".claude")).unwrap();
    assert_eq!(stand("claude"), Stand::NotGated);
    for name in ["claude", "gemini", "cursor", "copilot", "codex"] {
        house.run(named(name).unwrap(), &place, Aim::Install).unwrap();
    }
    for name in ["claude", "gemini", "cursor", "copilot"] {
        assert_eq!(stand(name), Stand::Gated, "{name}: {}", why(name));
    }
    // Without Codex here nobody can have trusted the hook.
    assert_eq!(stand("codex"), Stand::Open);
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
        assert_eq!(stand(name), Stand::Open, "{name}");
    }

    // The program that the agent starts is gone, or is another one.
    let house = House::new();
    let place = house.place(None);
    let agent = named("gemini").unwrap();
    let elsewhere = house.home().join("bin/countersign-old");
    fs::copy(house.home().join("bin/countersign"), &elsewhere).unwrap();
    let ours = Ours { program: elsewhere.display().to_string(), patience: 9 };
    house.run_with(agent, &place, Aim::Install, &ours).unwrap();
    assert_eq!(house.stand(agent, &place).state, Stand::Gated, "the same program twice");
    fs::write(&elsewhere, "#!/bin/sh\nexit 0 # harmless\n").unwrap();
    assert_eq!(house.stand(agent, &place).state, Stand::Open);
    fs::remove_file(&elsewhere).unwrap();
    assert!(house.stand(agent, &place).why.join("").contains("is not there"));
}

#[test]
fn lines_of_yaml_go_where_they_belong() {
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
        let put = list.put(before).unwrap();
        assert_eq!(put, after);
        assert_eq!(list.put(&put).unwrap(), put);
        let words = list.words(&list.take(&put).unwrap()).unwrap();
        assert!(!words.contains(&"countersign".to_owned()), "{put}");
    }
}

#[test]
fn the_plugins_of_this_tree_are_taken_along_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let heart = [("opencode", "countersign.js"), ("openclaw", "index.js"), ("hermes", "gate.py")];
    for (name, file) in heart {
        let (_, files) = PLUGINS.iter().find(|(it, _)| *it == name).unwrap();
        let text = fs::read_to_string(folder.join(name).join(file)).ok();
        let carried = files.iter().find(|(it, _)| *it == file).map(|(_, text)| (*text).to_owned());
        assert_eq!(carried, text, "{name}");
        // Not its tests, its papers, nor what runs them.
        assert!(files.iter().all(|(it, _)| *it != "check" && *it != "README.md"), "{name}");
    }
}
