//! Rules as text that is kept, so that rules that people confirmed stay in force.

use serde::{Deserialize, Serialize};

use crate::compile::read_source;
use crate::compiled::CompiledPolicy;
use crate::request::PolicyTypes;
use crate::source::PolicySource;
use countersign_types::tier::Tier;

#[derive(Serialize, Deserialize)]
struct StoredPolicy {
    permit_up_to: String,
    files: Vec<StoredFile>,
}

#[derive(Serialize, Deserialize)]
struct StoredFile {
    file: String,
    /// Written as plain rules of the configuration.
    plain: bool,
    text: String,
}

impl CompiledPolicy {
    /// The rules as text, without their tests.
    pub fn to_stored(&self) -> String {
        let mut files: Vec<StoredFile> = Vec::new();
        for rule in &self.rules {
            match files.last_mut() {
                Some(last) if last.file == rule.file && last.plain == rule.plain => {
                    last.text.push_str(&rule.text);
                    last.text.push('\n');
                }
                _ => files.push(StoredFile {
                    file: rule.file.clone(),
                    plain: rule.plain,
                    text: format!("{}\n", rule.text),
                }),
            }
        }
        let stored = StoredPolicy { permit_up_to: self.permit_up_to.label().to_owned(), files };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// The rules from that text; none if this version cannot read them.
    pub fn from_stored(text: &str) -> Option<CompiledPolicy> {
        let stored: StoredPolicy = serde_json::from_str(text).ok()?;
        let permit_up_to =
            Tier::parse(&stored.permit_up_to).filter(|tier| *tier <= Tier::Medium)?;
        let (types, mut rules, mut problems) = (PolicyTypes::new(), Vec::new(), Vec::new());
        for StoredFile { file, plain, text } in stored.files {
            let source = PolicySource { file, text };
            read_source(&source, plain, types.as_ref(), &mut rules, &mut problems);
        }
        problems.is_empty().then(|| CompiledPolicy::of(rules, permit_up_to, Vec::new()))
    }
}
