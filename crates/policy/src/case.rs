//! Test cases beside the rules: a call, and what must happen to it.

use std::fmt;

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::{Policy, Verdict};

use crate::compiled::CompiledPolicy;
use crate::facts::{CallTime, PolicyFacts};
use crate::limits::PolicyDecision;
use crate::rule::PolicySection;
use crate::source::{PolicyCase, PolicyProblem, PolicySource};

/// The start of a comment with a test.
const MARK: &str = "// test:";

/// What became of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure {
    /// The test.
    pub case: PolicyCase,
    /// What happened instead.
    pub found: String,
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PolicyCase { place, call, expect, .. } = &self.case;
        write!(f, "{place}: expected {expect}, found {}: {call}", self.found)
    }
}

/// A call with the decision of the rules.
#[derive(Debug)]
pub struct ExplainedCall {
    /// The assessment, with the rules applied.
    pub assessment: Assessment,
    /// What the verdict would be without rules.
    pub without_rules: Verdict,
    /// What the rules say.
    pub decision: PolicyDecision,
    /// What the rules saw.
    pub facts: PolicyFacts,
}

/// The word for a verdict in tests and reports.
pub const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask | Verdict::Crisis => "ask",
        Verdict::Deny => "deny",
    }
}

impl CompiledPolicy {
    /// Runs all tests; the failures. `settings`: how calls are assessed.
    pub fn run_cases(&self, settings: &Policy) -> Vec<CaseFailure> {
        self.cases.iter().filter_map(|case| self.run_case(case, settings)).collect()
    }

    /// How many tests there are.
    pub fn case_count(&self) -> usize {
        self.cases.len()
    }

    fn run_case(&self, case: &PolicyCase, settings: &Policy) -> Option<CaseFailure> {
        let failure = |found: String| Some(CaseFailure { case: case.clone(), found });
        let explained = match self.explain(&case.call, settings) {
            Ok(explained) => explained,
            Err(error) => return failure(error),
        };
        let found = verdict_word(explained.assessment.verdict);
        let rules = explained.decision.ruling.map(|ruling| ruling.rules).unwrap_or_default();
        let decided = if rules.is_empty() { "no rule".to_owned() } else { rules.join(", ") };
        if found != case.expect {
            return failure(format!("{found} ({decided})"));
        }
        match &case.rule {
            Some(rule) if !rules.contains(rule) => failure(format!("{found} by {decided}")),
            _ => None,
        }
    }

    /// Assesses a call, given as JSON, and applies the rules.
    pub fn explain(&self, call: &str, settings: &Policy) -> Result<ExplainedCall, String> {
        let value = json::parse(call).map_err(|error| format!("the call is not JSON: {error}"))?;
        let call = Call::from_json(&value).map_err(|error| error.to_string())?;
        let time = call_time(&value)?;
        let mut assessment = assess(&call, settings);
        let without_rules = assessment.verdict;
        let facts = PolicyFacts::new(&call, &assessment, false, time);
        let decision = self.decide(&facts, &assessment);
        self.apply(&facts, &mut assessment);
        Ok(ExplainedCall { assessment, without_rules, decision, facts })
    }
}

/// The time that a call names in `hour` and `weekday`; noon of a Monday if it names none.
pub(crate) fn call_time(value: &json::Value<'_>) -> Result<CallTime, String> {
    let mut time = CallTime::default();
    if let Some(hour) = value.get("hour") {
        let hour = hour.as_number().and_then(|hour| hour.parse().ok()).filter(|hour| *hour < 24);
        time.hour = hour.ok_or("`hour` is not a number from 0 to 23")?;
    }
    if let Some(day) = value.get("weekday") {
        let day = day.as_str().and_then(|name| CallTime::DAYS.iter().position(|day| *day == name));
        let day = day.and_then(|day| u8::try_from(day).ok());
        time.weekday = day.ok_or("`weekday` is not monday to sunday")?;
    }
    Ok(time)
}

/// The tests in the comments of a `.cedar` file: `// test: deny git push --force`.
pub(crate) fn in_comments(
    source: &PolicySource,
    problems: &mut Vec<PolicyProblem>,
) -> Vec<PolicyCase> {
    let mut cases = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let Some(text) = line.trim().strip_prefix(MARK) else { continue };
        let (word, call) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let place = format!("{}:{}", source.file, number + 1);
        match case(place, word, call.trim(), None) {
            Ok(case) => cases.push(case),
            Err(message) => {
                let problem = PolicyProblem::new(&source.file, None, message);
                problems.push(problem.at(Some(number + 1)));
            }
        }
    }
    cases
}

/// The tests in `[[policy.test]]`.
pub(crate) fn in_section(
    file: &str,
    section: &PolicySection,
    problems: &mut Vec<PolicyProblem>,
) -> Vec<PolicyCase> {
    let mut cases = Vec::new();
    for (number, test) in section.test.iter().enumerate() {
        let place = format!("{file}: policy.test {}", number + 1);
        let call = match &test.call {
            toml::Value::String(command) => Ok(command.clone()),
            table => serde_json::to_string(table).map_err(|error| error.to_string()),
        };
        match call.and_then(|call| case(place, &test.expect, &call, test.rule.clone())) {
            Ok(case) => cases.push(case),
            Err(message) => {
                let message = format!("policy.test {}: {message}", number + 1);
                problems.push(PolicyProblem::new(file, None, message));
            }
        }
    }
    cases
}

fn case(
    place: String,
    expect: &str,
    call: &str,
    rule: Option<String>,
) -> Result<PolicyCase, String> {
    let expect = ["allow", "ask", "deny"].into_iter().find(|word| *word == expect);
    let expect = expect.ok_or("a test begins with allow, ask or deny")?;
    let call = if call.starts_with('{') {
        call.to_owned()
    } else {
        serde_json::json!({ "command": call }).to_string()
    };
    let value = json::parse(&call).map_err(|error| format!("the call is not JSON: {error}"))?;
    Call::from_json(&value).map_err(|error| error.to_string())?;
    Ok(PolicyCase { place, call, expect, rule })
}
