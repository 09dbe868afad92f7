//! The small program's assessment: the same as the full one, or none at all.

#[cfg(test)]
mod tests {
    use countersign_json as json;
    use countersign_risk::assess::{Assessment, assess, assess_basic};
    use countersign_risk::call::Call;
    use countersign_risk::context::Context;
    use countersign_risk::route::passes_everywhere;
    use countersign_risk::rules::{Subject, all};
    use countersign_risk::verdict::Policy;
    use proptest::prelude::*;

    fn placed() -> Context<'static> {
        let folder = Some("/home/ana/shop");
        Context { cwd: folder, project: folder, ..Context::default() }
    }

    fn record(seen: &Assessment) -> String {
        serde_json::to_string(seen).unwrap()
    }

    /// Whether the small program assesses the call; if it does, exactly as the full one.
    fn is_assessed(call: &Call<'_>) -> bool {
        let seen = assess_basic(call, &Policy::default());
        if let Some(seen) = &seen {
            let full = assess(call, &Policy::default());
            assert_eq!(record(seen), record(&full), "{call:?}");
            assert_eq!(passes_everywhere(seen), passes_everywhere(&full), "{call:?}");
        }
        seen.is_some()
    }

    fn shell(command: &str) -> Vec<Call<'_>> {
        let unplaced = Call::shell(command);
        let bash = Call { tool: "Bash".into(), context: placed(), ..unplaced.clone() };
        vec![Call { context: placed(), ..unplaced.clone() }, bash, unplaced]
    }

    #[test]
    fn every_example_of_a_rule_is_assessed_alike_or_not_at_all() {
        let (mut known, mut count) = (0, 0);
        for rule in all() {
            for line in rule.examples.iter().chain(rule.counter_examples) {
                let tool = matches!(rule.subject, Subject::Tool | Subject::ToolStructure);
                if let (true, Some((tool, text))) = (tool, line.split_once(' ')) {
                    let text = text.rsplit_once(" = ").map_or(text, |(text, _)| text);
                    let text = format!("{{\"tool\":\"{tool}\",\"arguments\":{text}}}");
                    let Ok(value) = json::parse(&text) else { continue };
                    is_assessed(&Call::from_json(&value).unwrap());
                    continue;
                }
                for call in shell(line) {
                    count += 1;
                    known += usize::from(is_assessed(&call));
                }
            }
        }
        assert!(count > 10_000 && known * 10 > count * 5, "{known} of {count}");
    }

    #[test]
    fn a_text_without_a_reader_is_never_assessed() {
        for command in [
            "python3 -c 'print(1)'",
            "ls; perl -e 'print 1'",
            "echo \"$(ruby -e 'puts 1')\"",
            "sh -c \"sh -c 'php -r 1;'\"",
            "find . -exec python3 -c 'print(1)' \\;",
            "pwsh -c ls",
            "Get-ChildItem .",
            "if ($true) { Get-Content x }",
            "cmd /c dir",
            "mongosh --eval 'db.x.find()'",
            "please do not let me hurt myself",
        ] {
            for call in shell(command) {
                assert!(!is_assessed(&call), "{command}");
            }
        }
    }

    #[test]
    fn calls_that_only_read_are_assessed() {
        for command in [
            "ls -la",
            "git status",
            "git log --oneline -5 | head -3",
            "cat src/main.rs | grep -n fn",
            "cd src && sed -n 1,40p main.rs",
            "find . -name '*.rs' | xargs wc -l",
            "awk '{print $1}' x.txt",
            "rg -n 'fn main' --type rust",
        ] {
            for call in shell(command) {
                assert!(is_assessed(&call), "{command}");
            }
        }
        for call in [
            r#"{"tool":"Read","arguments":{"file_path":"/srv/notes.txt"}}"#,
            r#"{"tool":"Grep","arguments":{"pattern":"fn main","path":"src"}}"#,
        ] {
            let value = json::parse(call).unwrap();
            assert!(is_assessed(&Call::from_json(&value).unwrap()), "{call}");
        }
    }

    proptest! {
        #[test]
        fn joined_examples_are_assessed_alike_or_not_at_all(
            (first, second) in (0..4000_usize, 0..4000_usize),
            between in prop::sample::select(vec![" && ", "; ", " | ", "\n", " & ", " || ", " $("]),
        ) {
            let lines: Vec<&str> = all()
                .into_iter()
                .filter(|rule| rule.subject == Subject::Command)
                .flat_map(|rule| rule.examples.iter().chain(rule.counter_examples).copied())
                .collect();
            let line = |at: usize| lines.get(at % lines.len()).copied().unwrap_or_default();
            let close = if between == " $(" { ")" } else { "" };
            let text = format!("{}{between}{}{close}", line(first), line(second));
            for call in shell(&text) {
                is_assessed(&call);
            }
        }
    }
}
