//! A look at this machine for the assessment of a call, sent with the question.
//!
//! Only a look of the installed hook can make a call look harmless. It proves itself with a key
//! that the daemon keeps in a file which agents may not read; without the key, and for calls that
//! may run on another machine, facts can only raise the tier.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_client::{CallRequest, FactsMember, SnapshotMember, home_folder};
use countersign_facts::{
    LookLimits, LookPlace, ProjectLook, assess_with_look, assess_with_look_by,
};
use countersign_json::canonical::Digest;
use countersign_json::{self as json, Value};
use countersign_risk::assess::Assessment;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::Context;
use countersign_risk::facts::snapshot_claim::{ClaimedCall, SnapshotClaim, SnapshotMoment};
use countersign_risk::facts::{
    CallFacts, Fact, FactAnswer, FactObserver, FactsKey, UnknownReason, covered,
};
use countersign_risk::verdict::Policy;

/// The most text of facts that is sent with a question.
const MAX_TEXT: usize = 160 << 10;

/// Where a call would run.
#[derive(Debug, Clone, Copy)]
pub struct LookedAt<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The JSON text of its arguments.
    pub arguments: &'a str,
    /// The working directory.
    pub cwd: Option<&'a str>,
    /// The root folder of the project.
    pub project: Option<&'a str>,
    /// The agent program.
    pub host: Option<&'a str>,
}

/// Looks at this machine.
#[derive(Debug, Clone, Default)]
pub struct MachineLook {
    key: Option<FactsKey>,
}

impl MachineLook {
    /// With the key in the daemon's state folder, if this user may read it.
    pub fn with_key_of(state: &Path) -> MachineLook {
        let text = fs::read_to_string(state.join(FactsKey::FILE)).ok();
        MachineLook { key: text.as_deref().and_then(FactsKey::parse) }
    }

    /// The same look without the key: its facts can only raise.
    #[must_use]
    pub fn raising_only(&self) -> MachineLook {
        MachineLook { key: None }
    }

    /// Looks at what a call names and at the rules of its project, and adds both to its question.
    pub fn add_facts(&self, question: &mut CallRequest, at: &LookedAt<'_>) {
        question.facts = self.facts(at);
        let look = ProjectLook::new(at.cwd.map(Path::new), at.project.map(Path::new));
        let found = (!look.is_empty()).then(|| serde_json::to_string(&look).ok());
        question.project_rules = found.flatten();
    }

    /// A claim about a snapshot of the files of a call. None without the key.
    pub fn snapshot_member(
        &self,
        moment: SnapshotMoment,
        (at, session): (&LookedAt<'_>, Option<&str>),
        (folder, id, digest): (&str, &str, &str),
    ) -> Option<SnapshotMember> {
        let (tool, cwd, project) = (at.tool, at.cwd, at.project);
        let arguments = json::parse(at.arguments).ok()?.to_json();
        let call = ClaimedCall { tool, arguments, cwd, project, session };
        let digest = Digest::parse(digest).ok()?;
        let claim = SnapshotClaim::prove(self.key.as_ref()?, (moment, &call), (folder, id, digest));
        Some(SnapshotMember {
            folder: claim.folder,
            id: claim.id,
            digest: claim.digest.to_string(),
            proof: claim.proof.to_string(),
        })
    }

    fn facts(&self, at: &LookedAt<'_>) -> Option<FactsMember> {
        let arguments = json::parse(at.arguments).ok()?;
        let written = arguments.to_json();
        let call = call(at, arguments);
        let place = place(at)?;
        let limits = LookLimits::BEFORE_CALL;
        let observer = FactObserver::Hook;
        let (_, facts) = assess_with_look(&call, &Policy::default(), &place, limits, observer);
        if facts.found.is_empty() {
            return None;
        }
        let found = written_facts(&facts.found)?;
        let proof = self.key.as_ref().map(|key| {
            let covers = covered(at.tool, &written, at.cwd, &found);
            ("hook".to_owned(), key.prove(observer, &covers).to_string())
        });
        Some(FactsMember { found, proof })
    }
}

/// The facts as they are sent. Texts that are too long together are left out and count as unread:
/// without any facts the call would be assessed as if nobody could look.
fn written_facts(found: &[Fact]) -> Option<String> {
    let text = serde_json::to_string(found).ok()?;
    if text.len() <= MAX_TEXT {
        return Some(text);
    }
    let mut short = found.to_vec();
    for fact in short.iter_mut().filter(|fact| fact.query.is_about_code()) {
        fact.answer = FactAnswer::Unknown { reason: UnknownReason::TooLarge };
    }
    let text = serde_json::to_string(&short).ok()?;
    if text.len() <= MAX_TEXT {
        return Some(text);
    }
    short.retain(|fact| fact.query.is_about_code());
    serde_json::to_string(&short).ok()
}

/// Assesses a call, or says that this program cannot read all of it.
pub type AssessCall = fn(&Call<'_>, &Policy) -> Option<Assessment>;

/// Assesses a call and looks at the machine only if it `passes` so far. A call that is not
/// assessed does not pass.
pub fn assess_passing(
    assess: AssessCall,
    call: &Call<'_>,
    policy: &Policy,
    place: Option<&LookPlace>,
    passes: impl Fn(&Assessment) -> bool,
) -> bool {
    let Some(place) = place else { return assess(call, policy).is_some_and(|seen| passes(&seen)) };
    let facts = CallFacts::none(FactObserver::Hook);
    let asking = Call { facts: Some(facts.into()), ..call.clone() };
    let Some(seen) = assess(&asking, policy) else { return false };
    if !passes(&seen) || seen.queries.is_empty() {
        return passes(&seen);
    }
    let assess = |call: &Call<'_>| assess(call, policy).ok_or(());
    let (limits, observer) = (LookLimits::BEFORE_CALL, FactObserver::Hook);
    assess_with_look_by(assess, call, place, limits, observer).is_ok_and(|(seen, _)| passes(&seen))
}

/// Where to look. None if it is not known where the call would run.
pub fn place(at: &LookedAt<'_>) -> Option<LookPlace> {
    let cwd = at.cwd.map(PathBuf::from).filter(|cwd| cwd.is_absolute())?;
    let project = at.project.map(PathBuf::from);
    let variable = |name: &str| env::var(name).ok();
    Some(LookPlace { cwd, project, home: home_folder(), variable })
}

fn call<'a>(at: &LookedAt<'a>, arguments: Value<'a>) -> Call<'a> {
    let context = Context { cwd: at.cwd, project: at.project, host: at.host, ..Context::default() };
    Call {
        tool: Cow::Borrowed(at.tool),
        arguments,
        agent: None,
        session: None,
        context,
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    use sha2::Sha256;

    use super::*;

    #[test]
    fn a_proof_is_the_hmac_of_the_observer_and_the_digest() {
        for seed in 0..32u8 {
            let byte = |at: usize| seed.wrapping_mul(u8::try_from(at).unwrap() ^ 0x5a);
            let key: [u8; 32] = std::array::from_fn(byte);
            let covers = Digest::of(&[seed]);
            let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
            mac.update(&[FactObserver::Hook as u8]);
            mac.update(covers.as_bytes());
            let expected: [u8; 32] = mac.finalize().into_bytes().into();
            let proof = FactsKey::new(key).prove(FactObserver::Hook, &covers);
            assert_eq!(proof.as_bytes(), &expected);
        }
    }
}
