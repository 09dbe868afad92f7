//! Dry runs of real repositories and plans, with git itself as the oracle, and their binding.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use countersign_facts::{LookPlace, look};
use countersign_json::canonical::Digest;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::facts::{
    CallFacts, FactAnswer, FactObserver, FactQuery, PlanFact, PlanTool, UnknownReason,
};

use crate::git_states::{PATIENT, git, git_at, write};

const PLAN: &[u8] = include_bytes!("fixtures/mixed.tfplan");

fn facts(folder: &Path, tool: PlanTool, words: &str) -> CallFacts {
    let place = LookPlace {
        cwd: folder.to_path_buf(),
        project: Some(folder.to_path_buf()),
        home: Some(folder.join("home")),
        variable: |_| None,
    };
    let words = Some(words.split(' ').map(ToOwned::to_owned).collect());
    let query = FactQuery::Plan { tool, folder: ".".into(), words, is_first: true };
    look(&[query], &place, PATIENT, FactObserver::Hook)
}

fn answer(folder: &Path, tool: PlanTool, words: &str) -> Result<PlanFact, UnknownReason> {
    match facts(folder, tool, words).found.remove(0).answer {
        FactAnswer::Plan(found) => Ok(found),
        FactAnswer::Unknown { reason } => Err(reason),
        other => panic!("{words}: {other:?}"),
    }
}

pub fn lines(folder: &Path, tool: PlanTool, words: &str) -> String {
    answer(folder, tool, words).unwrap_or_else(|why| panic!("{words}: {why:?}")).lines.join("\n")
}

/// The digest that an approval of the call binds.
pub fn approved(folder: &Path, tool: PlanTool, words: &str) -> Digest {
    let mut call = Call::shell("the same command");
    call.facts = Some(Arc::new(facts(folder, tool, words)));
    digest(&call, b"").canonical
}

fn commit(folder: &Path, file: &str, text: &str, subject: &str) {
    write(folder, file, text);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", subject]);
}

/// A repository with a remote that has its first commits.
pub fn pushed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (root, work) = (folder.path(), folder.path().join("work"));
    fs::create_dir(&work).unwrap();
    git(root, &["init", "-q", "--bare", "remote.git"]);
    git(&work, &["init", "-q"]);
    git(&work, &["remote", "add", "origin", "../remote.git"]);
    for number in 0..12 {
        let text = "line\n".repeat(200 + number);
        write(&work, "big.txt", &text);
        commit(&work, &format!("src/{}.rs", number % 4), &text, &format!("first {number}"));
    }
    git(&work, &["push", "-q", "-u", "origin", "main"]);
    folder
}

#[test]
fn a_push_says_which_commits_and_files_it_adds() {
    let folder = pushed();
    let work = &folder.path().join("work");
    let push = |words: &str| lines(work, PlanTool::GitPush, words);
    assert!(push("push").contains("branch main: nothing to push"), "{}", push("push"));
    commit(work, "src/a.rs", "a\n", "Add a");
    commit(work, "docs/b.md", "b\n", "Remember password=hunter2hunter2");
    for packed in [false, true] {
        if packed {
            git(work, &["gc", "-q", "--aggressive", "--prune=now"]);
        }
        for words in ["push", "push origin main", "push -u origin HEAD", "push origin main:main"] {
            let said = push(words);
            assert!(said.contains("branch main: adds 2 commits"), "{packed} {words}: {said}");
            assert!(said.contains("Add a") && !said.contains("hunter2"), "{words}: {said}");
            assert!(said.contains("changes 2 files: docs/b.md, src/a.rs"), "{words}: {said}");
            assert!(said.contains("the remote itself was not asked"), "{words}: {said}");
        }
    }
    let said = push("push origin main:release");
    assert!(said.contains("branch release: new on the remote, adds 2 commits"), "{said}");
    assert!(push("push origin --delete main").contains("deletes branch main (was "));
    git(work, &["tag", "-a", "v1", "-m", "one"]);
    assert!(push("push origin v1").contains("tag v1: becomes "));
    assert!(push("push --tags").contains("tag v1"));
}

#[test]
fn a_push_that_replaces_history_says_so() {
    let folder = pushed();
    let work = &folder.path().join("work");
    git(work, &["reset", "-q", "--hard", "HEAD~3"]);
    commit(work, "new.txt", "x\n", "Another way");
    for (words, expected) in [
        ("push --force", "REPLACES HISTORY: removes 3 commits, adds 1 commit"),
        ("push origin +main", "REPLACES HISTORY: removes 3 commits"),
        ("push --force-with-lease origin main", "REPLACES HISTORY: removes 3 commits"),
        ("push", "rejected unless forced: 3 commits would be lost"),
    ] {
        let said = lines(work, PlanTool::GitPush, words);
        assert!(said.contains(expected), "{words}: {said}");
    }
    let count = git(work, &["rev-list", "--count", "main..origin/main"]);
    assert_eq!(count.trim(), "3");
}

/// A tool that moves history writes all commits of a branch in the same second.
#[test]
fn commits_of_the_same_second_are_told_apart() {
    for variant in ["a", "b", "c", "d", "e", "f"] {
        let folder = tempfile::tempdir().unwrap();
        let (root, work) = (folder.path(), &folder.path().join("work"));
        fs::create_dir(work).unwrap();
        git(root, &["init", "-q", "--bare", "remote.git"]);
        git(work, &["init", "-q"]);
        git(work, &["remote", "add", "origin", "../remote.git"]);
        let commit = |subject: &str| {
            write(work, "a.txt", subject);
            git(work, &["add", "-A"]);
            git_at(work, "1700000000 +0000", &["commit", "-q", "-m", subject]);
        };
        (0..12).for_each(|number| commit(&format!("{variant} {number}")));
        git(work, &["push", "-q", "-u", "origin", "main"]);
        git(work, &["reset", "-q", "--hard", "HEAD~3"]);
        commit("Another way");
        let said = lines(work, PlanTool::GitPush, "push --force");
        assert!(said.contains("removes 3 commits, adds 1 commit,"), "{variant}: {said}");
    }
}

#[test]
fn no_program_of_a_repository_is_started() {
    let folder = pushed();
    let work = &folder.path().join("work");
    let mark = folder.path().join("ran");
    let run = format!("touch {}", mark.display());
    for key in ["core.fsmonitor", "core.sshCommand", "credential.helper", "core.pager"] {
        git(work, &["config", key, &run]);
    }
    git(work, &["config", "remote.origin.url", &format!("ext::{run}")]);
    write(work, ".git/hooks/pre-push", &format!("#!/bin/sh\n{run}\n"));
    fs::set_permissions(work.join(".git/hooks/pre-push"), fs::Permissions::from_mode(0o755))
        .unwrap();
    let said = lines(work, PlanTool::GitPush, "push");
    assert!(said.contains("git runs the repository's pre-push hook first"), "{said}");
    assert!(!mark.exists());
}

#[test]
fn forms_of_a_push_that_are_not_read_have_no_dry_run() {
    let folder = pushed();
    let work = &folder.path().join("work");
    for words in ["push --mirror", "push origin refs/heads/*:refs/heads/*", "push origin main~1:x"]
    {
        let found = answer(work, PlanTool::GitPush, words);
        assert_eq!(found, Err(UnknownReason::Unsupported), "{words}");
    }
    git(work, &["replace", "HEAD", "HEAD~1"]);
    assert_eq!(answer(work, PlanTool::GitPush, "push"), Err(UnknownReason::Unsupported));
}

#[test]
fn a_saved_plan_is_shown_and_files_beside_it_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let terraform = |words: &str| answer(root, PlanTool::Terraform, words);
    fs::write(root.join("tfplan"), PLAN).unwrap();
    fs::write(root.join("tfplan.json"), r#"{"resource_changes":[]}"#).unwrap();
    let said = terraform("apply -auto-approve tfplan").unwrap().lines;
    assert_eq!(
        said,
        [
            "saved plan: 1 to change, 1 to replace, 1 to destroy",
            "destroys terraform_data.web[1]",
            "destroys and creates again terraform_data.web[0]",
            "changes terraform_data.keep",
        ]
    );
    for words in ["apply", "apply -auto-approve", "apply other"] {
        assert_eq!(terraform(words), Err(UnknownReason::Missing), "{words}");
    }
    for words in ["apply -state=x tfplan", "apply tfplan other", "apply tfplan.json"] {
        assert_eq!(terraform(words), Err(UnknownReason::Unsupported), "{words}");
    }
    // Every archive that another reader could take apart differently.
    for at in 0..PLAN.len() {
        let mut bytes = PLAN.to_vec();
        bytes[at] ^= 0x20;
        fs::write(root.join("tfplan"), &bytes).unwrap();
        let _ = terraform("apply tfplan");
        bytes.truncate(at);
        fs::write(root.join("tfplan"), &bytes).unwrap();
        assert!(terraform("apply tfplan").is_err(), "{at}");
    }
}

#[test]
fn manifests_and_migrations_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "k/web.yaml", "kind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n");
    write(root, "k/db.json", r#"{"kind":"Secret","metadata":{"name":"db"}}"#);
    write(root, "k/notes.txt", "no manifest");
    assert_eq!(
        answer(root, PlanTool::Kubernetes, "apply -f k").unwrap().lines,
        [
            "applies 2 objects of 2 files (read from the files, not from the cluster)",
            "applies Secret db",
            "applies Deployment web in shop",
        ]
    );
    for (words, reason) in [
        ("apply -f -", UnknownReason::NotRegular),
        ("apply -f https://x.example/a.yaml", UnknownReason::Unsupported),
        ("apply -k k", UnknownReason::Unsupported),
        ("apply -f missing.yaml", UnknownReason::Missing),
    ] {
        assert_eq!(answer(root, PlanTool::Kubernetes, words), Err(reason), "{words}");
    }
    write(root, "prisma/migrations/1_a/migration.sql", "CREATE TABLE a (b int);");
    write(root, "prisma/migrations/2_b/migration.sql", "INSERT INTO a VALUES (1);\nDROP TABLE a;");
    assert_eq!(
        answer(root, PlanTool::Migrations, "migrate deploy").unwrap().lines,
        [
            "2 migrations in prisma/migrations; which are pending only the database knows",
            "2_b: 2 statements",
            "DROP TABLE a",
            "INSERT INTO a VALUES (1)",
            "1_a: 1 statement",
            "CREATE TABLE a (b int)",
        ]
    );
    write(root, "alembic.ini", "[alembic]\nscript_location = migrations\n");
    write(root, "migrations/versions/1.py", "def upgrade():\n    op.drop_table('users')\n");
    let said = lines(root, PlanTool::Migrations, "upgrade head");
    assert!(said.contains("op.drop_table('users')"), "{said}");
    let other = answer(root, PlanTool::Migrations, "migrate deploy --schema other.prisma");
    assert_eq!(other, Err(UnknownReason::Unsupported));
}
