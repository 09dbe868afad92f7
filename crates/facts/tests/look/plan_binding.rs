//! What runs is what was approved: the digest of a call with a dry run is the same again exactly
//! if nothing that decides what the tool would do has changed since.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use countersign_risk::facts::PlanTool;

use crate::git_states::git;
use crate::plans::{approved, lines, pushed};

const ROUNDS: usize = 1_000;

/// What a file may hold; none if it is not there.
type Variants = Vec<Option<Vec<u8>>>;

/// A file that may change between approval and run.
struct DriftingFile {
    path: PathBuf,
    variants: Variants,
    /// Whether it decides what the tool would do.
    decides: bool,
    now: usize,
}

impl DriftingFile {
    fn set(&mut self, variant: usize) {
        self.now = variant;
        let Some(content) = self.variants.get(variant).unwrap() else {
            let folder = self.path.parent().unwrap();
            // A migration is gone together with its folder.
            let _ = if self.path.ends_with("migration.sql") {
                fs::remove_dir_all(folder)
            } else {
                fs::remove_file(&self.path)
            };
            return;
        };
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        fs::write(&self.path, content).unwrap();
        let is_program = self.path.ends_with("pre-push");
        let mode = if is_program { 0o755 } else { 0o644 };
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// A folder with a command that has a dry run.
struct DriftingCall {
    root: PathBuf,
    tool: PlanTool,
    words: &'static str,
    files: Vec<DriftingFile>,
}

fn texts(texts: &[&str]) -> Variants {
    texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect()
}

fn file(path: PathBuf, variants: Variants, decides: bool) -> DriftingFile {
    DriftingFile { path, variants, decides, now: 0 }
}

fn push_call(root: PathBuf) -> DriftingCall {
    let names = git(&root, &["rev-list", "main"]);
    let commits: Vec<String> = names.lines().map(|name| format!("{name}\n")).collect();
    let commits: Vec<&str> = commits.iter().map(String::as_str).collect();
    let config = fs::read_to_string(root.join(".git/config")).unwrap();
    let other = config.replace("../remote.git", "https://evil.example/x.git");
    let ssh = format!("{config}[core]\n\tsshCommand = ./evil\n");
    let own = |path: &str| root.join(path);
    fs::write(own(".git/refs/heads/other"), commits[5]).unwrap();
    let files = vec![
        file(own(".git/refs/heads/main"), texts(&commits), true),
        file(own(".git/refs/remotes/origin/main"), texts(&commits), true),
        file(own(".git/config"), texts(&[&config, &other, &ssh]), true),
        file(own(".git/HEAD"), texts(&["ref: refs/heads/main", "ref: refs/heads/other"]), true),
        file(
            own(".git/hooks/pre-push"),
            [vec![None], texts(&["#!/bin/sh\n", "#!/bin/sh\nrm -rf ~\n"])].concat(),
            true,
        ),
        file(own("src/0.rs"), texts(&["a", "b"]), false),
        file(own(".git/refs/heads/third"), texts(&commits), false),
        file(own(".git/refs/tags/v1"), texts(&commits), false),
    ];
    DriftingCall { root, tool: PlanTool::GitPush, words: "push", files }
}

fn other_calls(root: &std::path::Path) -> Vec<DriftingCall> {
    let call = |tool, words, files: Vec<(&str, Variants, bool)>| {
        let own = |(path, variants, decides)| file(root.join(path), variants, decides);
        let files = files.into_iter().map(own).collect();
        DriftingCall { root: root.to_path_buf(), tool, words, files }
    };
    let plans: [&[u8]; 2] =
        [include_bytes!("fixtures/mixed.tfplan"), include_bytes!("fixtures/create.tfplan")];
    let plans = plans.map(|plan| Some(plan.to_vec())).to_vec();
    let pod = |name: &str| format!("kind: Pod\nmetadata:\n  name: {name}\n");
    let contexts = texts(&["current-context: dev\n", "current-context: prod\n"]);
    let sql = |number: u8| format!("DROP TABLE t{number};");
    vec![
        call(
            PlanTool::Terraform,
            "apply tfplan",
            vec![("tfplan", plans, true), ("tfplan.json", texts(&["{}", "[]"]), false)],
        ),
        call(
            PlanTool::Kubernetes,
            "apply -f k",
            vec![
                ("k/a.yaml", texts(&[&pod("a"), &pod("b"), &pod("c")]), true),
                ("k/b.yml", [vec![None], texts(&[&pod("a"), &pod("d")])].concat(), true),
                ("home/.kube/config", contexts, true),
                ("k/notes.txt", texts(&["a", "b"]), false),
            ],
        ),
        call(
            PlanTool::Migrations,
            "migrate deploy",
            vec![
                ("prisma/migrations/1_a/migration.sql", texts(&[&sql(1), &sql(2)]), true),
                (
                    "prisma/migrations/2_b/migration.sql",
                    [vec![None], texts(&[&sql(1), &sql(2)])].concat(),
                    true,
                ),
                ("prisma/schema.prisma", texts(&["a", "b"]), false),
            ],
        ),
    ]
}

#[test]
fn a_thousand_approvals_cover_exactly_what_was_approved() {
    let (repository, folder) = (pushed(), tempfile::tempdir().unwrap());
    let mut calls = other_calls(folder.path());
    calls.push(push_call(repository.path().join("work")));
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % end as u64).unwrap()
    };
    let (mut refused, mut passed) = (0, 0);
    for round in 0..ROUNDS {
        let at = below(calls.len());
        let call = calls.get_mut(at).unwrap();
        for one in &mut call.files {
            one.set(below(one.variants.len()));
        }
        assert!(!lines(&call.root, call.tool, call.words).is_empty());
        let before: Vec<usize> = call.files.iter().map(|one| one.now).collect();
        let permit = approved(&call.root, call.tool, call.words);
        for _ in 0..below(3) {
            let one = below(call.files.len());
            let one = call.files.get_mut(one).unwrap();
            one.set(below(one.variants.len()));
        }
        let is_other = call.files.iter().any(|one| one.path.ends_with("HEAD") && one.now == 1);
        let decides = |one: &DriftingFile| {
            // Another branch is pushed.
            one.decides && !(is_other && one.path.ends_with("refs/heads/main"))
        };
        let same =
            call.files.iter().zip(&before).all(|(one, was)| !decides(one) || one.now == *was);
        let runs = approved(&call.root, call.tool, call.words) == permit;
        assert_eq!(runs, same, "round {round}, {:?}", call.tool);
        if runs { passed += 1 } else { refused += 1 }
    }
    println!("executed = approved: {ROUNDS} of {ROUNDS}, {refused} refused after drift");
    assert!(refused > ROUNDS / 5 && passed > ROUNDS / 5, "{refused} {passed}");
}
