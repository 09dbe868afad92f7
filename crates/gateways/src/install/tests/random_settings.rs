//! Random settings: our hook is added once, and the person's own hooks stay.

use serde_json::Value;

use super::ScratchUser;
use crate::agents::named;
use crate::install::{Ownership, command};

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// A hook of the person, or an old one of ours.
    fn hook(&mut self) -> Value {
        let commands =
            ["mine.sh", "x \"y\" # z", "/old/countersign hook claude", "\u{fc}\u{1f600}"];
        let at = usize::try_from(self.roll(4)).unwrap();
        serde_json::json!({ "type": "command", "command": commands[at] })
    }

    fn settings(&mut self) -> Value {
        let mut top = serde_json::Map::new();
        for name in ["model", "env", "permissions"] {
            match self.roll(4) {
                0 => drop(top.insert(name.to_owned(), serde_json::json!({ "a": [1, {}, []] }))),
                1 => drop(top.insert(name.to_owned(), Value::from("t\u{2028}ext"))),
                _ => {}
            }
        }
        if self.roll(4) > 0 {
            let mut hooks = serde_json::Map::new();
            for event in ["PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit"] {
                let entries = (0..self.roll(4)).map(|_| {
                    let inner: Vec<Value> = (0..self.roll(3)).map(|_| self.hook()).collect();
                    serde_json::json!({ "matcher": "*", "hooks": inner })
                });
                let entries: Vec<Value> = entries.collect();
                if self.roll(3) > 0 {
                    hooks.insert(event.to_owned(), Value::from(entries));
                }
            }
            top.insert("hooks".to_owned(), Value::from(hooks));
        }
        Value::from(top)
    }
}

/// The person's own hooks, event by event, in their order.
fn own_hooks(text: &str) -> Vec<(String, Value)> {
    let value: Value = serde_json::from_str(text).unwrap();
    let lists = value["hooks"].as_object().cloned().unwrap_or_default();
    let hooks = lists.into_iter().flat_map(|(event, entries)| {
        let entries = entries.as_array().cloned().unwrap_or_default();
        let inner = entries.into_iter().flat_map(|it| it["hooks"].as_array().cloned().unwrap());
        inner.map(move |hook| (event.clone(), hook))
    });
    let ours = |hook: &Value| {
        let command = hook["command"].as_str().unwrap();
        command::program_of(command, "claude").is_some()
    };
    hooks.filter(|(_, hook)| !ours(hook)).collect()
}

#[test]
fn our_hook_is_added_once_to_any_settings() {
    let (house, agent) = (ScratchUser::new(), named("claude").unwrap());
    let edits = agent.file_edits(&house.place(None), &house.command()).unwrap();
    let Ownership::Part(part) = &edits[0].ownership else { panic!("it is the person's file") };
    let mut dice = Dice(7);
    for round in 0..400 {
        let settings = dice.settings();
        let text = if round % 2 == 0 {
            settings.to_string()
        } else {
            serde_json::to_string_pretty(&settings).unwrap()
        };
        let put = part.apply(&text).unwrap();
        assert_eq!(part.apply(&put).unwrap(), put, "{text}");
        assert_eq!(put.matches("--patience").count(), 1, "{text}\n{put}");
        assert!(!put.contains("/old/"), "{put}");
        assert_eq!(own_hooks(&put), own_hooks(&text), "{text}\n{put}");
        let taken = part.remove(&put).unwrap();
        assert_eq!(own_hooks(&taken), own_hooks(&text), "{text}\n{taken}");
        assert!(!taken.contains("countersign"), "{taken}");
        for name in ["model", "env", "permissions"] {
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap()[name].clone();
            assert_eq!((value(&put), value(&taken)), (value(&text), value(&text)));
        }
    }
}
