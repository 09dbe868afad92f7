//! What the look says about files in real repositories, with git itself as the oracle.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use countersign_facts::{LookLimits, LookPlace, look};
use countersign_risk::facts::{
    FactAnswer, FactObserver, FactQuery, GitCounts, PathFact, PathKind, RemoteFact,
};

/// Limits that no slow machine reaches.
pub const PATIENT: LookLimits =
    LookLimits { time: Duration::from_secs(20), ..LookLimits::BEFORE_CALL };

pub fn git(folder: &Path, words: &[&str]) -> String {
    git_at(folder, "", words)
}

/// The same at this time; empty means now.
pub fn git_at(folder: &Path, time: &str, words: &[&str]) -> String {
    let settings =
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.args(settings).args(words).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    if !time.is_empty() {
        command.env("GIT_AUTHOR_DATE", time).env("GIT_COMMITTER_DATE", time);
    }
    let done = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

pub fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q"]);
    for name in ["a.txt", "src/b.rs", "src/deep/c.rs", "docs/d.md", "run.sh"] {
        write(folder.path(), name, &format!("text of {name}\n"));
    }
    write(folder.path(), ".gitignore", "target/\n*.log\n!keep.log\n/only-here\nsrc/**/gen\n");
    std::os::unix::fs::symlink("a.txt", folder.path().join("link")).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "first"]);
    folder
}

fn answer(folder: &Path, query: &FactQuery) -> FactAnswer {
    let place = LookPlace {
        cwd: folder.to_path_buf(),
        project: Some(folder.to_path_buf()),
        home: Some("/nonexistent".into()),
        variable: |_| None,
    };
    let facts = look(std::slice::from_ref(query), &place, PATIENT, FactObserver::Hook);
    facts.found.into_iter().next().unwrap().answer
}

fn path(folder: &Path, path: &str) -> PathFact {
    match answer(folder, &FactQuery::Path { path: path.to_owned() }) {
        FactAnswer::Path(found) => found,
        other => panic!("{path}: {other:?}"),
    }
}

fn counts(folder: &Path, name: &str) -> [u64; 4] {
    let found = path(folder, name);
    let git = found.git.unwrap_or_else(|| panic!("{name}: {found:?}"));
    assert!(git.is_exact && found.size.is_exact, "{name}: {found:?}");
    [git.unchanged, git.changed, git.untracked, git.ignored + git.built]
}

#[test]
fn every_file_is_unchanged_changed_untracked_or_ignored() {
    let folder = repository();
    let root = folder.path();
    assert_eq!(counts(root, "src"), [2, 0, 0, 0]);
    assert!(path(root, "src").is_recoverable());
    assert_eq!(counts(root, "link"), [1, 0, 0, 0]);
    write(root, "src/b.rs", "other text\n");
    write(root, "src/new.rs", "new\n");
    write(root, "src/deep/gen/x.rs", "generated\n");
    write(root, "target/debug/x", "built\n");
    write(root, "x.log", "log\n");
    write(root, "keep.log", "kept\n");
    assert_eq!(counts(root, "src"), [1, 1, 1, 1]);
    assert_eq!(counts(root, "target"), [0, 0, 0, 1]);
    assert_eq!(counts(root, "target/debug/x"), [0, 0, 0, 1]);
    assert_eq!(counts(root, "x.log"), [0, 0, 0, 1]);
    assert_eq!(counts(root, "keep.log"), [0, 0, 1, 0]);
    assert_eq!(counts(root, "src/../docs"), [1, 0, 0, 0]);
    assert!(!path(root, "src").is_recoverable());
    let whole = path(root, ".");
    assert!(whole.has_repository && !whole.is_recoverable());
    assert!(path(root, ".git/objects").has_repository);
    // The project itself is not inside the project: deleting it takes everything.
    assert!(path(root, "src").in_project && !whole.in_project);
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let folder = repository();
    let root = folder.path();
    let file = root.join("src/b.rs");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("text", "TEXT")).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    assert_eq!(counts(root, "src/b.rs"), [0, 1, 0, 0]);
    // The same content with another time is unchanged.
    fs::write(&file, text).unwrap();
    assert_eq!(counts(root, "src/b.rs"), [1, 0, 0, 0]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&file, mode).unwrap();
    assert_eq!(counts(root, "src/b.rs"), [0, 1, 0, 0]);
}

#[test]
fn every_version_of_the_index_is_read() {
    for version in ["2", "3", "4"] {
        let folder = repository();
        git(folder.path(), &["update-index", "--index-version", version]);
        write(folder.path(), "src/intended.rs", "later\n");
        git(folder.path(), &["add", "-N", "src/intended.rs"]);
        assert_eq!(counts(folder.path(), "src"), [2, 1, 0, 0], "version {version}");
    }
}

#[test]
fn indexes_that_are_not_supported_say_nothing() {
    let folder = repository();
    git(folder.path(), &["update-index", "--split-index"]);
    assert_eq!(path(folder.path(), "src").git, None);
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["init", "-q", "--object-format=sha256"]);
    write(other.path(), "a", "a\n");
    git(other.path(), &["add", "a"]);
    assert_eq!(path(other.path(), "a").git, None);
    assert!(!path(other.path(), "a").is_recoverable());
}

#[test]
fn a_worktree_is_read_like_its_repository() {
    let folder = repository();
    let side = tempfile::tempdir().unwrap();
    let place = side.path().join("fix");
    git(folder.path(), &["worktree", "add", "-q", place.to_str().unwrap()]);
    write(&place, "src/b.rs", "changed\n");
    assert_eq!(counts(&place, "src"), [1, 1, 0, 0]);
    assert!(path(&place, ".").has_repository);
}

#[test]
fn an_open_merge_is_a_change() {
    let folder = repository();
    let root = folder.path();
    git(root, &["checkout", "-q", "-b", "other"]);
    write(root, "a.txt", "theirs\n");
    git(root, &["commit", "-q", "-am", "theirs"]);
    git(root, &["checkout", "-q", "main"]);
    write(root, "a.txt", "ours\n");
    git(root, &["commit", "-q", "-am", "ours"]);
    let merged = Command::new("git").args(["merge", "-q", "other"]).current_dir(root).output();
    assert!(!merged.unwrap().status.success());
    assert_eq!(counts(root, "a.txt"), [0, 1, 0, 0]);
}

/// The states of all files as `git status` prints them.
fn oracle(root: &Path) -> GitCounts {
    let tracked: Vec<String> =
        git(root, &["ls-files", "-z"]).split('\0').map(ToOwned::to_owned).collect();
    let mut states: BTreeMap<String, char> = BTreeMap::new();
    let text = git(root, &["status", "--porcelain=v1", "-z", "--ignored=matching", "-uall"]);
    for line in text.split('\0').filter(|line| !line.is_empty()) {
        let (state, name) = line.split_at(3);
        states.insert(name.to_owned(), state.chars().nth(1).unwrap());
    }
    let mut counts = GitCounts { is_exact: true, ..GitCounts::default() };
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() == ".git" {
                continue;
            }
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let is_ignored = states.iter().any(|(known, state)| {
                *state == '!' && (name == *known || known.ends_with('/') && name.starts_with(known))
            });
            let counted = match states.get(&name) {
                Some('M') => &mut counts.changed,
                Some('?') => &mut counts.untracked,
                _ if tracked.contains(&name) => &mut counts.unchanged,
                _ if is_ignored => &mut counts.ignored,
                other => panic!("{name}: {other:?}"),
            };
            *counted += 1;
        }
    }
    counts
}

#[test]
fn git_says_the_same() {
    let rules = [
        "*.o",
        "build/",
        "/top",
        "a/**/z",
        "**/x",
        "!a.o",
        "b/*",
        "[ab].txt",
        "c?",
        "d/e/",
        "\\!f",
        "#g",
        "h ",
        "!build/keep",
        "*",
        "!*/",
        "!*.txt",
    ];
    let names = [
        "a.o",
        "x",
        "top",
        "b/top",
        "build/keep",
        "a/z",
        "a/b/c/z",
        "b/x/y",
        "a.txt",
        "c1",
        "d/e/f",
        "!f",
        "h",
        "c/build/m.txt",
        "d/a.o",
        "deep/a/b.txt",
    ];
    let mut seed = 7_u64;
    let mut pick = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % limit
    };
    for round in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "-q"]);
        for _ in 0..pick(4) {
            write(root, names[pick(names.len())], "tracked\n");
        }
        git(root, &["add", "-A"]);
        for place in [".gitignore", "b/.gitignore", "c/build/.gitignore", ".git/info/exclude"] {
            let lines: Vec<&str> = (0..pick(4)).map(|_| rules[pick(rules.len())]).collect();
            if !lines.is_empty() && root.join(place).parent().is_some_and(|p| !p.is_file()) {
                write(root, place, &(lines.join("\n") + "\n"));
            }
        }
        for _ in 0..pick(8) {
            let name = names[pick(names.len())];
            let is_free = root.join(name).ancestors().skip(1).all(|parent| !parent.is_file());
            if is_free && !root.join(name).is_dir() {
                write(root, name, if pick(2) == 0 { "tracked\n" } else { "other text\n" });
            }
        }
        let ours = path(root, ".").git.map(|git| {
            let ignored = git.ignored + git.built;
            GitCounts { is_exact: true, ignored, built: 0, ..git }
        });
        if root.join(".git/index").exists() {
            assert_eq!(
                ours,
                Some(oracle(root)),
                "round {round}: {}",
                git(root, &["status", "-s", "--ignored"])
            );
        }
    }
}

#[test]
fn the_address_of_a_push_is_found_without_its_password() {
    let folder = repository();
    let root = folder.path();
    git(root, &["remote", "add", "origin", "https://ana:hunter2secret@git.example/shop.git"]);
    git(root, &["remote", "add", "fork", "git@git.example:ana/shop.git"]);
    git(root, &["config", "branch.main.pushRemote", "fork"]);
    let remote = |name: Option<&str>| {
        let query = FactQuery::GitRemote { folder: "src".into(), remote: name.map(Into::into) };
        match answer(root, &query) {
            FactAnswer::Remote(found) => found,
            other => panic!("{other:?}"),
        }
    };
    let found = remote(Some("origin"));
    assert_eq!(found.urls, ["https://git.example/shop.git"]);
    assert!(found.is_complete);
    assert_eq!(remote(None).name, "fork");
    let given = remote(Some("https://evil.example/x.git"));
    let urls = vec!["https://evil.example/x.git".to_owned()];
    let expected = RemoteFact {
        name: urls[0].clone(),
        urls,
        origin: vec!["https://git.example/shop.git".to_owned()],
        is_complete: true,
    };
    assert_eq!(given, expected);
    git(root, &["config", "include.path", "../other"]);
    assert!(!remote(Some("origin")).is_complete);
}

#[test]
fn a_path_that_is_not_there_is_missing() {
    let folder = repository();
    let found = path(folder.path(), "not/there");
    assert_eq!((found.kind, found.size.files), (PathKind::Missing, 0));
    assert!(found.in_project);
    assert!(!path(folder.path(), "../elsewhere").in_project);
}

fn worktree(root: &Path) -> GitCounts {
    match answer(root, &FactQuery::Worktree { folder: ".".into() }) {
        FactAnswer::Worktree(found) => found,
        other => panic!("{other:?}"),
    }
}

/// Whether git itself finds nothing in the index that the last commit does not have.
fn is_committed_by_git(root: &Path) -> bool {
    git(root, &["diff", "--cached", "--name-only"]).is_empty()
}

#[test]
fn what_was_only_added_is_not_committed() {
    let folder = repository();
    let root = folder.path();
    assert!(worktree(root).is_index_committed && worktree(root).is_on_branch);
    write(root, "a.txt", "changed\n");
    assert!(worktree(root).is_index_committed, "only the file changed");
    git(root, &["add", "a.txt"]);
    assert!(!worktree(root).is_index_committed && worktree(root).changed == 0);
    git(root, &["commit", "-q", "-m", "second"]);
    assert!(worktree(root).is_index_committed);
    git(root, &["rm", "-q", "--cached", "docs/d.md"]);
    assert!(!worktree(root).is_index_committed);
    git(root, &["reset", "-q", "--hard"]);
    // In a pack, with the branches in one file.
    git(root, &["gc", "-q", "--prune=now"]);
    git(root, &["pack-refs", "--all"]);
    assert!(worktree(root).is_index_committed && worktree(root).is_on_branch);
    write(root, "new.txt", "new\n");
    git(root, &["add", "new.txt"]);
    assert!(!worktree(root).is_index_committed);
    git(root, &["reset", "-q", "--hard"]);
    git(root, &["checkout", "-q", "--detach", "HEAD~1"]);
    assert!(worktree(root).is_index_committed && !worktree(root).is_on_branch);
    // The index is the last commit of another branch.
    git(root, &["read-tree", "main"]);
    assert!(!worktree(root).is_index_committed);
}

#[test]
fn the_index_counts_as_committed_only_if_git_says_so() {
    let folder = repository();
    let root = folder.path();
    let mut seed = 7_u64;
    let mut pick = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut committed = 0;
    for round in 0..60 {
        let name =
            ["a.txt", "src/b.rs", "src/n.rs", "docs/d.md"][usize::try_from(pick(4)).unwrap()];
        match pick(6) {
            0 => write(root, name, &format!("round {round}\n")),
            1 => drop(git(root, &["add", "-A"])),
            2 => drop(git(root, &["commit", "-q", "--allow-empty", "-am", "more"])),
            3 => drop(git(root, &["reset", "-q", "--hard"])),
            4 => drop(git(root, &["reset", "-q", "--soft", "HEAD"])),
            _ => drop(git(root, &["gc", "-q", "--prune=now"])),
        }
        if worktree(root).is_index_committed {
            committed += 1;
            assert!(is_committed_by_git(root), "round {round}");
        }
    }
    assert!(committed > 20, "too few: {committed}");
}

#[test]
fn replaced_and_missing_commits_are_not_believed() {
    let folder = repository();
    let root = folder.path();
    write(root, "a.txt", "second\n");
    git(root, &["commit", "-q", "-am", "second"]);
    git(root, &["replace", "HEAD", "HEAD~1"]);
    assert!(!worktree(root).is_index_committed);
    git(root, &["replace", "-d", "HEAD"]);
    fs::remove_dir_all(root.join(".git/refs/replace")).unwrap();
    assert!(worktree(root).is_index_committed);
    // Another object under the name of the commit.
    let head = git(root, &["rev-parse", "HEAD"]);
    let first = git(root, &["rev-parse", "HEAD~1"]);
    let place = |name: &str| {
        let (folder, rest) = name.trim().split_at(2);
        root.join(".git/objects").join(folder).join(rest)
    };
    fs::remove_file(place(&head)).unwrap();
    assert!(!worktree(root).is_index_committed);
    fs::copy(place(&first), place(&head)).unwrap();
    assert!(!worktree(root).is_index_committed);
}
