//! A process that is killed while it takes or restores a snapshot leaves a whole one or none, and a
//! restoration that can be repeated.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use countersign_snapshot::SnapshotStore;

use crate::listing::{LIMITS, Listing, NOW, Numbers, assert_same, label, list, scratch};

/// How often a process is killed, unless the environment names another number.
const ROUNDS: usize = 60;
const FILES: usize = 40;
const ACTION: &str = "SNAPSHOT_TEST_ACTION";
const FOLDER: &str = "SNAPSHOT_TEST_FOLDER";

pub fn rounds() -> usize {
    let named = env::var("SNAPSHOT_TEST_ROUNDS").ok();
    named.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// Not a test of its own: what the killed process does.
#[test]
fn killed_process() {
    let (Ok(action), Some(folder)) = (env::var(ACTION), env::var_os(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let store = SnapshotStore::at(folder.join("undo"));
    match action.split_once(' ') {
        Some(("restore", id)) => drop(store.restore(id, false, NOW).unwrap()),
        _ => drop(store.take(label("k"), &[folder.join("project")], LIMITS, NOW).unwrap()),
    }
}

pub fn start(action: &str, folder: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "killed::killed_process"]).stdout(Stdio::null());
    command.env(ACTION, action).env(FOLDER, folder).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process once `count` has reached a number, and then after a random number of steps.
/// Returns whether it was killed before its end.
pub fn kill(
    mut child: Child,
    numbers: &mut Numbers,
    most: usize,
    count: impl Fn() -> usize,
) -> bool {
    let at = numbers.below(most + 1);
    while count() < at && child.try_wait().unwrap().is_none() {}
    for _ in 0..numbers.below(2_000) {
        std::hint::black_box(numbers.below(1_000));
    }
    let _ = child.kill();
    !child.wait().unwrap().success()
}

fn files_below(folder: &Path) -> usize {
    let Ok(listed) = fs::read_dir(folder) else { return 0 };
    let count = |path: PathBuf| if path.is_dir() { files_below(&path) } else { 1 };
    listed.flatten().map(|entry| count(entry.path())).sum()
}

fn fill(project: &Path, numbers: &mut Numbers) {
    for number in 0..FILES {
        let folder = project.join(format!("d{}", number % 5));
        fs::create_dir_all(&folder).unwrap();
        let text = format!("{number} {}", numbers.below(1 << 30)).repeat(numbers.below(2_000));
        fs::write(folder.join(format!("f{number}")), text).unwrap();
    }
    std::os::unix::fs::symlink("d0/f0", project.join("link")).unwrap();
}

#[test]
fn a_killed_snapshot_is_whole_or_not_there() {
    let (mut numbers, mut killed, mut whole) = (Numbers(77), 0, 0);
    for _ in 0..rounds() {
        let scratch = scratch();
        fill(&scratch.project, &mut numbers);
        let before = list(&scratch.project);
        let objects = scratch.folder.path().join("undo/objects");
        let child = start("take", scratch.folder.path());
        killed += usize::from(kill(child, &mut numbers, FILES + 1, || files_below(&objects)));
        let records = scratch.store.records().unwrap();
        for record in &records {
            fs::remove_dir_all(&scratch.project).unwrap();
            scratch.store.restore(&record.id, false, NOW + 1).unwrap();
            assert_same(&before, &list(&scratch.project));
            whole += 1;
        }
        // What the killed process left does not disturb the next one.
        scratch
            .store
            .take(label("k"), std::slice::from_ref(&scratch.project), LIMITS, NOW + 2)
            .unwrap();
    }
    assert!(killed > rounds() / 4, "only {killed} processes were killed in time");
    assert!(whole < rounds(), "all {whole} snapshots were complete");
}

fn change(project: &Path) {
    fs::remove_dir_all(project.join("d1")).unwrap();
    fs::write(project.join("d1"), "now a file").unwrap();
    for number in (0..FILES).step_by(2).filter(|number| number % 5 != 1) {
        fs::write(project.join(format!("d{}/f{number}", number % 5)), "changed").unwrap();
    }
    fs::remove_file(project.join("link")).unwrap();
    fs::create_dir_all(project.join("link/new")).unwrap();
    fs::write(project.join("link/new/x"), "x").unwrap();
}

#[test]
fn a_killed_restoration_can_be_repeated() {
    let (mut numbers, mut killed) = (Numbers(99), 0);
    for _ in 0..rounds() {
        let scratch = scratch();
        let project = &scratch.project;
        fill(project, &mut numbers);
        let before = list(project);
        let record =
            scratch.store.take(label("k"), std::slice::from_ref(project), LIMITS, NOW).unwrap();
        change(project);
        if numbers.below(2) == 0 {
            scratch.store.record_after(&record, LIMITS, NOW).unwrap();
        }
        let same = || same_files(&before, project);
        let start_at = same();
        let child = start(&format!("restore {}", record.id), scratch.folder.path());
        let most = before.len() - start_at;
        killed += usize::from(kill(child, &mut numbers, most, || same().saturating_sub(start_at)));
        scratch.store.restore(&record.id, false, NOW + 1).unwrap();
        assert_same(&before, &list(project));
    }
    println!("restored {0} of {0} after kill -9, {killed} of them in the middle", rounds());
    assert!(killed > rounds() / 4, "only {killed} processes were killed in time");
}

/// How many files are as before, without a reader that fails on files that vanish.
pub fn same_files(before: &Listing, project: &Path) -> usize {
    let same = |path: &Path, content: &[u8]| {
        path.starts_with(project) && fs::read(path).is_ok_and(|now| now == content)
    };
    before.iter().filter(|(path, (_, _, content))| same(path, content)).count()
}
