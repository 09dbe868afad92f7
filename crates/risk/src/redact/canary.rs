//! Planted secrets of every kind in random calls: none may survive in the record.

use countersign_redact::samples::{Dice, plant, survivors};

use super::*;
use crate::assess::assess;
use crate::call::Call;
use crate::verdict::Policy;
use countersign_json::Value;

#[test]
fn no_planted_secret_survives_in_the_record_of_a_call() {
    let mut dice = Dice(11);
    let mut seen = Vec::new();
    for _ in 0..1000 {
        let (text, secrets) = plant(&mut dice);
        let call = Call::shell(&text);
        let assessment = assess(&call, &Policy::default());
        let shown = redact_call(&call, &assessment);
        let all = format!("{shown:?}");
        if survivors(&all, &secrets) {
            seen.push(format!("{text}\n   as {all}"));
        }
        for reason in &shown.reasons {
            let Some(span) = reason.span else { continue };
            let command = shown.arguments.pointer("/command").and_then(Value::as_str).unwrap();
            let old = assessment.reasons.iter().find(|r| r.code == reason.code).unwrap();
            let old = old.span.unwrap();
            let now = command.get(span.start as usize..span.end as usize).unwrap();
            let was = text.get(old.start as usize..old.end as usize).unwrap();
            assert!(now == was || now.contains("⟨hidden: "), "{was} became {now}");
        }
    }
    assert!(seen.is_empty(), "{} survive:\n{}", seen.len(), seen.join("\n"));
}
