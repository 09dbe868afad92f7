//! Files, folders and repositories that were made to mislead the look, to stop it or to use it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use countersign_facts::{LookLimits, LookPlace, look};
use countersign_risk::facts::{
    CallFacts, FactAnswer, FactObserver, FactQuery, PathFact, PathKind, RemoteSystem, UnknownReason,
};

const PATIENT: LookLimits = LookLimits { time: Duration::from_secs(20), ..LookLimits::BEFORE_CALL };

fn place(folder: &Path) -> LookPlace {
    LookPlace {
        cwd: folder.to_path_buf(),
        project: Some(folder.to_path_buf()),
        home: Some(folder.to_path_buf()),
        variable: |_| None,
    }
}

fn facts(folder: &Path, queries: &[FactQuery], limits: LookLimits) -> CallFacts {
    look(queries, &place(folder), limits, FactObserver::Hook)
}

fn answer(folder: &Path, query: FactQuery) -> FactAnswer {
    facts(folder, &[query], PATIENT).found.remove(0).answer
}

fn path(folder: &Path, name: &str) -> PathFact {
    match answer(folder, FactQuery::Path { path: name.to_owned() }) {
        FactAnswer::Path(found) => found,
        other => panic!("{name}: {other:?}"),
    }
}

fn script(folder: &Path, name: &str) -> FactAnswer {
    answer(folder, FactQuery::Script { path: name.to_owned() })
}

fn unknown(reason: UnknownReason) -> FactAnswer {
    FactAnswer::Unknown { reason }
}

fn run(folder: &Path, program: &str, words: &[&str]) {
    let done = Command::new(program).args(words).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{program} {words:?}: {done:?}");
}

#[test]
fn pipes_sockets_devices_and_folders_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run(root, "mkfifo", &["pipe"]);
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("pipe", root.join("to-pipe")).unwrap();
    for name in ["pipe", "socket", "zero", "to-pipe", "/dev/tty", "."] {
        assert_eq!(script(root, name), unknown(UnknownReason::NotRegular), "{name}");
    }
    assert_eq!(path(root, "pipe").kind, PathKind::Special);
    assert_eq!(path(root, "zero").resolved.as_deref(), Some("/dev/zero"));
    assert_eq!(path(root, ".").size.files, 4);
    // A configuration file that is a pipe.
    fs::create_dir_all(root.join(".kube")).unwrap();
    run(root, "mkfifo", &[".kube/config", "package.json", "Makefile"]);
    for query in [
        FactQuery::Current { system: RemoteSystem::Kubernetes },
        FactQuery::PackageScript { folder: ".".into(), name: "x".into() },
        FactQuery::MakeTarget { folder: ".".into(), file: None, target: None },
    ] {
        assert_eq!(answer(root, query.clone()), unknown(UnknownReason::NotRegular), "{query:?}");
    }
}

#[test]
fn loops_of_symlinks_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    fs::create_dir(root.join("tree")).unwrap();
    symlink("..", root.join("tree/up")).unwrap();
    let found = path(root, "a");
    assert_eq!(
        (found.kind, found.resolved.clone(), found.in_project),
        (PathKind::Symlink, None, false)
    );
    assert_eq!(
        answer(root, FactQuery::Path { path: "a/x".into() }),
        unknown(UnknownReason::Unsupported)
    );
    assert_ne!(script(root, "a"), unknown(UnknownReason::Deadline));
    let tree = path(root, "tree");
    assert_eq!((tree.size.files, tree.size.is_exact), (1, true));
}

#[test]
fn a_symlink_out_of_the_project_is_outside() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path();
    symlink(other.path(), root.join("out")).unwrap();
    for name in ["out", "out/x", "out/../x"] {
        let found = path(root, name);
        assert!(!found.in_project, "{name}: {found:?}");
    }
    // A symlink to a file that does not exist yet would create it there.
    symlink(other.path().join("later"), root.join("dangling")).unwrap();
    assert!(!path(root, "dangling").in_project);
    fs::create_dir(root.join("in")).unwrap();
    assert!(path(root, "in").in_project);
}

#[test]
fn a_huge_folder_is_counted_up_to_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("many");
    fs::create_dir(&root).unwrap();
    for number in 0..3_000 {
        fs::write(root.join(number.to_string()), "x").unwrap();
    }
    let limits = LookLimits { entries: 1_000, ..PATIENT };
    let queries = [FactQuery::Path { path: "many".into() }];
    let FactAnswer::Path(found) = facts(folder.path(), &queries, limits).found.remove(0).answer
    else {
        panic!("no answer")
    };
    assert_eq!((found.size.files, found.size.is_exact), (1_000, false));
    assert!(!found.is_recoverable());
    let found = path(folder.path(), "many");
    assert_eq!((found.size.files, found.size.bytes, found.size.is_exact), (3_000, 3_000, true));
    let deep = folder.path().join("d/".repeat(200));
    fs::create_dir_all(&deep).unwrap();
    assert!(!path(folder.path(), "d").size.is_exact);
}

#[test]
fn the_look_ends_in_time_and_every_question_has_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..5_000 {
        fs::write(folder.path().join(number.to_string()), "x").unwrap();
    }
    let queries = vec![FactQuery::Path { path: ".".into() }; 200];
    let limits = LookLimits { entries: u64::MAX, ..LookLimits::BEFORE_CALL };
    let found = facts(folder.path(), &queries, limits).found;
    assert_eq!(found.len(), 200);
    assert_eq!(found.last().unwrap().answer, unknown(UnknownReason::Deadline));
}

#[test]
fn folders_that_cannot_be_read_are_not_exact() {
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("x.sh"), "x").unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let can_read = fs::read_dir(&closed).is_ok();
    let (found, script) = (path(folder.path(), "closed"), script(folder.path(), "closed/x.sh"));
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    // The superuser can read everything.
    if !can_read {
        assert!(!found.size.is_exact && !found.is_recoverable(), "{found:?}");
        assert_eq!(script, unknown(UnknownReason::Unreadable));
    }
}

#[test]
fn a_script_is_read_up_to_its_bound_and_its_digest_covers_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("short.sh"), "echo hi\n").unwrap();
    let FactAnswer::Script(short) = script(root, "./short.sh") else { panic!("no script") };
    assert!(short.is_complete && short.digest.is_some() && short.text == "echo hi\n");
    // The bound is inside a character.
    fs::write(root.join("long.sh"), format!("x{}", "é".repeat(64 << 10))).unwrap();
    let FactAnswer::Script(long) = script(root, "long.sh") else { panic!("no script") };
    assert!(!long.is_complete && long.digest.is_some() && long.text.len() < 64 << 10);
    fs::write(root.join("binary"), b"\x7fELF\0\xff").unwrap();
    assert_eq!(script(root, "binary"), unknown(UnknownReason::NotText));
    fs::write(root.join("nul"), b"echo\0rm").unwrap();
    assert_eq!(script(root, "nul"), unknown(UnknownReason::NotText));
    for name in ["*.sh", "$X", "~ana/x", ""] {
        assert_eq!(script(root, name), unknown(UnknownReason::Unsupported), "{name}");
    }
    assert_eq!(script(root, "none.sh"), unknown(UnknownReason::Missing));
}

#[test]
fn a_file_that_changes_meanwhile_is_never_half_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.sh");
    let texts = ["a".repeat(60 << 10), "b".repeat(60 << 10)];
    fs::write(&file, &texts[0]).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for text in &texts {
                    fs::write(&file, text).unwrap();
                }
            }
        });
        for _ in 0..300 {
            match script(folder.path(), "x.sh") {
                FactAnswer::Script(found) => {
                    let first = found.text.chars().next();
                    assert!(found.text.chars().all(|c| Some(c) == first), "a mixed text");
                }
                other => assert_eq!(other, unknown(UnknownReason::Changed)),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Everything in a repository's configuration that makes git run a program.
#[test]
fn a_repository_cannot_make_the_look_run_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let canary = root.join("canary");
    let command = format!("touch {}", canary.display());
    run(root, "git", &["init", "-q", "repo"]);
    let repo = root.join("repo");
    fs::write(repo.join("a.txt"), "text\n").unwrap();
    run(&repo, "git", &["add", "a.txt"]);
    for (key, value) in [
        ("core.fsmonitor", command.as_str()),
        ("core.sshCommand", &command),
        ("core.pager", &command),
        ("core.editor", &command),
        ("core.askPass", &command),
        ("core.hooksPath", root.to_str().unwrap()),
        ("alias.status", &format!("!{command}")),
        ("diff.external", &command),
        ("diff.x.textconv", &command),
        ("filter.x.clean", &command),
        ("filter.x.smudge", &command),
        ("filter.x.process", &command),
        ("remote.origin.url", &format!("ext::{command}")),
        ("remote.origin.uploadpack", &command),
        ("credential.helper", &format!("!{command}")),
        ("extensions.partialClone", "origin"),
    ] {
        run(&repo, "git", &["config", key, value]);
    }
    fs::write(repo.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    fs::write(repo.join("a.txt"), "other\n").unwrap();
    let _ = fs::remove_file(&canary);
    let found = path(&repo, ".");
    assert_eq!(found.git.unwrap().changed, 1, "{found:?}");
    // Another file could name another work tree, so nothing is known.
    run(&repo, "git", &["config", "include.path", "/dev/zero"]);
    assert_eq!(path(&repo, ".").git, None);
    let FactAnswer::Remote(remote) =
        answer(&repo, FactQuery::GitRemote { folder: ".".into(), remote: None })
    else {
        panic!("no remote")
    };
    assert!(remote.urls[0].starts_with("ext::") && !remote.is_complete, "{remote:?}");
    assert!(!canary.exists(), "a program ran");
}

#[test]
fn odd_repositories_are_no_repositories() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (name, git) in [
        ("loop", "gitdir: ."),
        ("far", "gitdir: /dev"),
        ("long", &"gitdir: ".repeat(10_000)),
        ("empty", ""),
    ] {
        let place = root.join(name);
        fs::create_dir(&place).unwrap();
        fs::write(place.join(".git"), git).unwrap();
        fs::write(place.join("x"), "x").unwrap();
        assert_eq!(path(&place, "x").git, None, "{name}");
    }
    let place = root.join("garbage");
    fs::create_dir_all(place.join(".git")).unwrap();
    fs::write(place.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(place.join(".git/config"), "").unwrap();
    fs::write(
        place.join(".git/index"),
        [b"DIRC\0\0\0\x02\xff\xff\xff\xff", &[0xff; 500][..]].concat(),
    )
    .unwrap();
    fs::write(place.join("x"), "x").unwrap();
    assert_eq!(path(&place, "x").git, None);
}

#[test]
fn contexts_are_read_from_files_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let current = |system| match answer(root, FactQuery::Current { system }) {
        FactAnswer::Current(found) => found.name,
        other => format!("{other:?}"),
    };
    for name in [".kube", ".docker", ".aws", ".config/gcloud/configurations"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let text = "contexts:\n- name: x\n  current-context: no\ncurrent-context: \"prod-eu\"\n";
    fs::write(root.join(".kube/config"), text).unwrap();
    assert_eq!(current(RemoteSystem::Kubernetes), "prod-eu");
    assert_eq!(current(RemoteSystem::Docker), "default");
    fs::write(root.join(".docker/config.json"), r#"{"currentContext":"build-farm"}"#).unwrap();
    assert_eq!(current(RemoteSystem::Docker), "build-farm");
    fs::write(root.join(".aws/config"), "[default]\n").unwrap();
    assert_eq!(current(RemoteSystem::Aws), "default");
    fs::write(root.join(".config/gcloud/active_config"), "live\n").unwrap();
    let config = root.join(".config/gcloud/configurations/config_live");
    fs::write(config, "[core]\naccount = a@example.org\nproject = shop-prod\n").unwrap();
    assert_eq!(current(RemoteSystem::GoogleCloud), "live/shop-prod");
    fs::write(root.join(".config/gcloud/active_config"), "../../x\n").unwrap();
    assert!(current(RemoteSystem::GoogleCloud).contains("Unsupported"));
}

#[test]
fn a_package_script_comes_with_what_runs_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let query =
        |name: &str| FactQuery::PackageScript { folder: "web/src".into(), name: name.into() };
    fs::create_dir_all(root.join("web/src")).unwrap();
    let text = r#"{"scripts":{"build":"tsc","prebuild":"rm -rf dist","postbuild":"node x.js"}}"#;
    fs::write(root.join("web/package.json"), text).unwrap();
    let FactAnswer::Script(found) = answer(root, query("build")) else { panic!("no script") };
    assert_eq!(found.text, "rm -rf dist\ntsc\nnode x.js");
    assert_eq!(answer(root, query("deploy")), unknown(UnknownReason::Missing));
    fs::write(root.join("web/package.json"), r#"{"scripts":{"a":"x"},"scripts":{"a":"y"}}"#)
        .unwrap();
    assert_eq!(answer(root, query("a")), unknown(UnknownReason::Unsupported));
}
