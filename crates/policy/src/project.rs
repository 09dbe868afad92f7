//! The rules of one project. They can only restrict until a person adopts their file.

use countersign_json::canonical::Digest;
use countersign_risk::assess::Assessment;
use countersign_risk::policy_ruling::{PolicyRuling, RuleDecision};
use countersign_risk::verdict::Policy;
use countersign_types::PROJECT_FILE;
use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;
use serde::Deserialize;

use crate::case::CaseFailure;
use crate::compile::PolicyErrors;
use crate::compiled::CompiledPolicy;
use crate::facts::PolicyFacts;
use crate::limits::{PolicyDecision, all_of};
use crate::rule::PolicySection;
use crate::source::PolicyProblem;

/// How many rules a project may have.
const MAX_RULES: usize = 200;
/// How long the text may be.
const MAX_TEXT: usize = 32 << 10;
/// Stands before the names of the rules, which people choose without looking at other files.
const PREFIX: &str = "project:";

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenProject {
    policy: PolicySection,
}

/// The rules of a project.
#[derive(Debug)]
pub struct ProjectPolicy {
    folder: String,
    digest: Digest,
    all: CompiledPolicy,
    restrictions: CompiledPolicy,
}

impl ProjectPolicy {
    /// Reads the text of the file in a folder. `permit_up_to`: what the organisation lets rules
    /// allow at most.
    pub fn compile(
        folder: &str,
        text: &str,
        permit_up_to: Tier,
    ) -> Result<ProjectPolicy, PolicyErrors> {
        let one =
            |message: String| PolicyErrors(vec![PolicyProblem::new(PROJECT_FILE, None, message)]);
        if text.len() > MAX_TEXT {
            return Err(one(format!("it is larger than {} KiB", MAX_TEXT >> 10)));
        }
        let written: WrittenProject =
            toml::from_str(text).map_err(|error| one(error.message().to_owned()))?;
        let mut section = written.policy;
        if section.rule.len() > MAX_RULES {
            let message = format!("there are {} rules; at most {MAX_RULES}", section.rule.len());
            return Err(one(message));
        }
        let paths = section.rule.iter_mut().flat_map(|rule| &mut rule.paths);
        paths.for_each(|path| below(folder, path));
        let mut all = CompiledPolicy::compile(PROJECT_FILE, &section, &[])?;
        all.permit_up_to = all.permit_up_to.min(permit_up_to);
        let restrictions = all.restrictions();
        let digest = Digest::of(text.as_bytes());
        Ok(ProjectPolicy { folder: folder.to_owned(), digest, all, restrictions })
    }

    /// The folder of the file.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The digest of the file's text.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// All rules.
    pub fn rules(&self) -> &CompiledPolicy {
        &self.all
    }

    /// How many rules count only after a person adopted the file.
    pub fn allowing_rules(&self) -> usize {
        self.all.rules().len().saturating_sub(self.restrictions.rules().len())
    }

    /// Runs the tests of the file; the failures.
    pub fn run_cases(&self, settings: &Policy) -> Vec<CaseFailure> {
        self.all.run_cases(settings)
    }

    /// What the rules say about a call. `is_adopted`: whether a person adopted this text.
    pub fn decide(
        &self,
        facts: &PolicyFacts,
        seen: &Assessment,
        is_adopted: bool,
    ) -> PolicyDecision {
        let rules = if is_adopted { &self.all } else { &self.restrictions };
        let mut decision = rules.decide(facts, seen);
        let named = |name: &mut String| name.insert_str(0, PREFIX);
        let ruling = decision.ruling.iter_mut().flat_map(|ruling| &mut ruling.rules);
        ruling.for_each(named);
        if let Some(ruling) = decision.ruling.as_mut().filter(|ruling| !ruling.reason.is_empty()) {
            // The text is the project's own, so that the card says so.
            ruling.reason = format!("the project says: {}", ruling.reason);
        }
        decision.held_back.iter_mut().map(|(name, _)| name).for_each(named);
        decision
    }

    /// The sentence about rules that wait for adoption, if there are any.
    pub fn waiting_sentence(&self) -> Option<String> {
        let (number, folder) = (self.allowing_rules(), &self.folder);
        let rules =
            if number == 1 { "rule of this project waits" } else { "rules of this project wait" };
        let how = format!("an administrator can run: countersign policy adopt {folder}");
        (number > 0).then(|| format!("{number} {rules} for adoption; {how}."))
    }
}

/// The ruling where the rules of a project could not be read: a person decides.
pub fn unreadable_project(folder: &str, problem: &str) -> PolicyRuling {
    PolicyRuling {
        decision: RuleDecision::Failed,
        rules: vec![PROJECT_FILE.to_owned()],
        reason: format!("{}/{PROJECT_FILE}: {problem}", folder.trim_end_matches('/')),
        quorum: None,
        route: Vec::new(),
        assurance: None,
    }
}

/// The strictest of several rulings, with all rules that decided alike.
pub fn strictest(rulings: Vec<PolicyRuling>) -> Option<PolicyRuling> {
    let rank = |ruling: &PolicyRuling| match ruling.decision {
        RuleDecision::Denied => 3,
        RuleDecision::Asked => 2,
        RuleDecision::Failed => 1,
        RuleDecision::Allowed => 0,
    };
    let highest = rulings.iter().map(rank).max()?;
    let mut same = rulings.into_iter().filter(|ruling| rank(ruling) == highest);
    let mut first = same.next()?;
    for other in same {
        first.rules.extend(other.rules);
        first.quorum = first.quorum.max(other.quorum);
        first.route = all_of(first.route.into_iter().chain(other.route));
        let level = |ruling: &'static str| Assurance::parse(ruling);
        let both = [first.assurance.and_then(level), other.assurance.and_then(level)];
        first.assurance = both.into_iter().flatten().max().map(Assurance::label);
        if first.reason.is_empty() {
            first.reason = other.reason;
        }
    }
    Some(first)
}

/// A path that begins with `./` is below the folder of the file.
fn below(folder: &str, path: &mut String) {
    let folder = folder.trim_end_matches('/');
    if let Some(rest) = path.strip_prefix("./") {
        *path = format!("{folder}/{rest}");
    } else if path == "." {
        folder.clone_into(path);
    }
}
