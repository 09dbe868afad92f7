//! Every rule's examples, harmless snippets, and arbitrary text.

use proptest::prelude::*;

use super::table::of;
use super::{Language, read};
use crate::context::{Context, Environment};
use crate::effect::Effect;
use crate::finding::Findings;
use crate::tier::Tier;

const LANGUAGES: [Language; 6] = [
    Language::Python,
    Language::JavaScript,
    Language::Perl,
    Language::Ruby,
    Language::Php,
    Language::Other,
];

fn findings(lang: Language, text: &str) -> Findings {
    let mut out = Findings::default();
    read(lang, text, 0, &Context::default(), &mut out);
    out
}

fn tier(lang: Language, text: &str) -> Tier {
    findings(lang, text).tier()
}

fn py(text: &str) -> Tier {
    tier(Language::Python, text)
}

fn js(text: &str) -> Tier {
    tier(Language::JavaScript, text)
}

#[test]
fn every_rule_s_examples() {
    let mut wrong = Vec::new();
    let common: Vec<&str> = of(Language::Other).rules.iter().map(|r| r.id).collect();
    for lang in LANGUAGES {
        let table = of(lang);
        for rule in table.rules.iter().chain(table.combos) {
            // Rules of the common file are written in Python.
            let foreign =
                |e: &&str| {
                    !of(Language::Python).rules.iter().chain(of(Language::Python).combos).any(|r| {
                        std::ptr::eq(r, rule) || (r.id == rule.id && r.examples.contains(e))
                    })
                };
            let ours = lang == Language::Python || !common.contains(&rule.id);
            for example in rule.examples.iter().filter(|e| ours || foreign(e)) {
                if lang != Language::Python && !foreign(example) {
                    continue;
                }
                let seen = findings(lang, example);
                if !seen.list.iter().any(|f| f.code == rule.id && f.weight.tier() >= rule.tier) {
                    wrong.push(format!("{lang:?} {}: not seen in {example:?}", rule.id));
                }
            }
            for example in rule.counter {
                if lang != Language::Python && !foreign(example) {
                    continue;
                }
                let seen = findings(lang, example);
                if seen.list.iter().any(|f| f.code == rule.id) {
                    wrong.push(format!("{lang:?} {}: seen in {example:?}", rule.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
