//! A claim of the hook about the snapshot that it took of a call's files, provable with the key
//! that only people's own programs read.

use countersign_json::canonical::Digest;

use super::{FactObserver, FactsKey};

/// Stands before what a proof covers, so that no other digest can pass for it.
const TAG: &[u8] = b"countersign/snapshot-claim/1\0";

/// Which side of the call a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMoment {
    /// The files before the call.
    Before,
    /// The files after the call.
    After,
}

/// What the hook says about a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotClaim {
    /// The folder of the snapshots.
    pub folder: String,
    /// The id of the snapshot.
    pub id: String,
    /// The digest of what it holds.
    pub digest: Digest,
    /// The proof.
    pub proof: Digest,
}

impl SnapshotClaim {
    /// The claim of whoever has the key.
    pub fn prove(
        key: &FactsKey,
        (moment, call): (SnapshotMoment, &ClaimedCall<'_>),
        (folder, id, digest): (&str, &str, Digest),
    ) -> SnapshotClaim {
        let covers = covered(moment, call, folder, id, &digest);
        let proof = key.prove(FactObserver::Hook, &covers);
        SnapshotClaim { folder: folder.to_owned(), id: id.to_owned(), digest, proof }
    }

    /// Whether someone with the key made this claim about this call.
    pub fn is_proven(
        &self,
        key: &FactsKey,
        moment: SnapshotMoment,
        call: &ClaimedCall<'_>,
    ) -> bool {
        let covers = covered(moment, call, &self.folder, &self.id, &self.digest);
        key.prove(FactObserver::Hook, &covers) == self.proof
    }
}

/// The call that a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedCall<'c> {
    /// The tool.
    pub tool: &'c str,
    /// The arguments, as this crate's JSON writes them.
    pub arguments: String,
    /// The working directory.
    pub cwd: Option<&'c str>,
    /// The root folder of the project.
    pub project: Option<&'c str>,
    /// The session.
    pub session: Option<&'c str>,
}

fn covered(
    moment: SnapshotMoment,
    call: &ClaimedCall<'_>,
    folder: &str,
    id: &str,
    digest: &Digest,
) -> Digest {
    let mut bytes = TAG.to_vec();
    bytes.push(moment as u8);
    let given = |text: Option<&str>| text.map_or_else(String::new, |text| format!("+{text}"));
    let (cwd, project, session) = (given(call.cwd), given(call.project), given(call.session));
    for part in [call.tool, &call.arguments, &cwd, &project, &session, folder, id] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.extend_from_slice(digest.as_bytes());
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> ClaimedCall<'static> {
        ClaimedCall {
            tool: "Bash",
            arguments: r#"{"command":"rm a.db"}"#.to_owned(),
            cwd: Some("/p"),
            project: Some("/p"),
            session: Some("s"),
        }
    }

    #[test]
    fn a_claim_holds_for_its_call_its_moment_and_its_snapshot_only() {
        let key = FactsKey::new([7; 32]);
        let digest = Digest::of(b"before");
        let made = |moment| SnapshotClaim::prove(&key, (moment, &call()), ("/u", "ab", digest));
        let claim = made(SnapshotMoment::Before);
        let holds = |claim: &SnapshotClaim, call: &ClaimedCall<'_>| {
            claim.is_proven(&key, SnapshotMoment::Before, call)
        };
        assert!(holds(&claim, &call()));
        assert!(!holds(&made(SnapshotMoment::After), &call()));
        assert!(!claim.is_proven(&FactsKey::new([8; 32]), SnapshotMoment::Before, &call()));
        for other in [
            ClaimedCall { tool: "Write", ..call() },
            ClaimedCall { arguments: r#"{"command":"rm b.db"}"#.to_owned(), ..call() },
            ClaimedCall { cwd: None, ..call() },
            ClaimedCall { project: Some("/"), ..call() },
            ClaimedCall { session: None, ..call() },
            // The same bytes, cut elsewhere.
            ClaimedCall { cwd: Some("/p+/p"), project: None, ..call() },
        ] {
            assert!(!holds(&claim, &other), "{other:?}");
        }
        for forged in [
            SnapshotClaim { folder: "/v".to_owned(), ..claim.clone() },
            SnapshotClaim { id: "ac".to_owned(), ..claim.clone() },
            SnapshotClaim { digest: Digest::of(b"other"), ..claim.clone() },
            SnapshotClaim { proof: Digest::of(b"guess"), ..claim.clone() },
        ] {
            assert!(!holds(&forged, &call()), "{forged:?}");
        }
    }
}
