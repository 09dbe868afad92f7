//! Dry runs on cards, with the real daemon, real repositories and a real saved plan: a person sees
//! what the tool would do, and only that runs.

use std::fs;
use std::path::Path;

use super::facts::{bash, git, hook, pending_card, project};
use super::fixture::{HookOutput, TestHome, approve, waiting};

const PLANS: [&[u8]; 2] = [
    include_bytes!("../../../facts/tests/look/fixtures/mixed.tfplan"),
    include_bytes!("../../../facts/tests/look/fixtures/create.tfplan"),
];

fn commit(root: &Path, subject: &str) {
    fs::write(root.join("src/a.rs"), format!("// {subject}\n")).unwrap();
    let name = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    git(root, &[&name[..], &["commit", "-qam", subject]].concat());
}

/// Asks, changes something, approves; returns what the hook says then and for the same again.
fn drifts(command: &str, root: &Path, home: &TestHome, drift: impl Fn()) -> (String, String) {
    let person = home.person();
    let waits = hook(home, "20", &bash(root, command));
    let asked = waiting(&person, 1);
    drift();
    approve(&person, &asked);
    let first = HookOutput::of(waits).claude().0;
    let second = HookOutput::of(hook(home, "1", &bash(root, command))).claude().0;
    (first, second)
}

#[test]
fn a_saved_plan_is_on_the_card_and_another_one_does_not_run() {
    let home = TestHome::new();
    let root = project(&home);
    let plan = root.join("tfplan");
    fs::write(&plan, PLANS[0]).unwrap();
    let other = drifts("terraform apply -auto-approve tfplan", &root, &home, || {
        let card = pending_card(&home);
        assert!(card.contains("saved plan: 1 to change, 1 to replace, 1 to destroy"), "{card}");
        assert!(card.contains("destroys terraform_data.web[1]"), "{card}");
        fs::write(&plan, PLANS[1]).unwrap();
    });
    assert_eq!(other, ("deny".to_owned(), "deny".to_owned()));
    let card = pending_card(&home);
    assert!(card.contains("saved plan: 3 to create"), "{card}");
    // The approved plan runs once.
    fs::write(&plan, PLANS[0]).unwrap();
    let again = hook(&home, "5", &bash(&root, "terraform apply -auto-approve tfplan"));
    assert_eq!(HookOutput::of(again).claude().0, "allow");
}

#[test]
fn a_push_shows_its_commits_and_another_commit_is_not_pushed() {
    let home = TestHome::new();
    let root = project(&home);
    git(&root, &["remote", "add", "origin", "https://git.example/shop.git"]);
    git(&root, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(&root, &["branch", "-M", "main"]);
    commit(&root, "Harmless change");
    let command = "git push --force origin main";
    let other = drifts(command, &root, &home, || {
        let card = pending_card(&home);
        assert!(card.contains("branch main: adds 1 commit"), "{card}");
        assert!(card.contains("Harmless change") && card.contains("src/a.rs"), "{card}");
        commit(&root, "Add a backdoor");
    });
    assert_eq!(other, ("deny".to_owned(), "deny".to_owned()));
    assert!(pending_card(&home).contains("Add a backdoor"));
}
