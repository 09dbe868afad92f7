//! The web inbox in a real browser: people sign in, see requests and decide them.

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, alone, browse, has_browser};

#[test]
fn people_see_and_answer_in_a_browser() {
    let _alone = alone();
    if !has_browser("inbox") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    // The daemon finds the repository itself, for callers of its socket only.
    let repository = folder.path().join("shop");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    let socket = folder.path().join("run/agents.sock");
    let [repository, socket] = [&repository, &socket].map(|path| path.to_str().unwrap());
    let further = [("REPOSITORY", repository), ("SOCKET", socket)];
    browse("inbox", "gate/inbox.mjs", &fixture, &further);
}
