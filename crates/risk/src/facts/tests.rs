//! Which questions an assessment asks, and what the answers change.

use std::sync::Arc;

use super::*;
use crate::assess::{Assessment, assess};
use crate::call::Call;
use crate::verdict::Policy;
use countersign_types::tier::Tier;
use proptest::prelude::*;

const COMMANDS: [&str; 29] = [
    "rm -rf src",
    "rm -rf src lib",
    "rm src/a.rs",
    "cd web && rm -rf src",
    "cat notes.txt",
    "echo hi > notes.txt",
    "bash x.sh",
    "bash /tmp/x.sh",
    "/tmp/run",
    "./run --now",
    "source env.sh",
    "python3 tool.py",
    "make clean",
    "npm run build",
    "psql -f x.sql",
    "git push",
    "git push fork main",
    "git checkout -- .",
    "git clean -fd",
    "git restore src",
    "git reset --hard",
    "git reset --hard HEAD~2",
    "git checkout -f main",
    "git checkout main -- src",
    "git restore --staged --worktree src",
    "kubectl delete pod x",
    "aws s3 rm s3://x/y",
    "for i in 1 2; do rm -rf src; mv ~/x src; done",
    "mv a src; rm -rf src",
];

fn placed(command: &str) -> Call<'_> {
    let mut call = Call::shell(command);
    call.context.cwd = Some("/home/ana/shop");
    call.context.project = Some("/home/ana/shop");
    call
}

fn with(command: &str, observer: FactObserver, found: Vec<Fact>) -> Assessment {
    let facts = CallFacts { found, ..CallFacts::none(observer) };
    assess(&Call { facts: Some(Arc::new(facts)), ..placed(command) }, &Policy::default())
}

fn asked(command: &str) -> Vec<FactQuery> {
    with(command, FactObserver::Hook, Vec::new()).queries
}

fn without(command: &str) -> Assessment {
    assess(&placed(command), &Policy::default())
}

fn path_fact(git: GitCounts) -> PathFact {
    PathFact {
        kind: PathKind::Folder,
        located: "/home/ana/shop/src".to_owned(),
        resolved: Some("/home/ana/shop/src".to_owned()),
        in_project: true,
        size: TreeSize { files: 214, bytes: 9, is_exact: true },
        has_repository: false,
        git: Some(git),
    }
}

fn clean() -> GitCounts {
    GitCounts { unchanged: 214, is_exact: true, ..GitCounts::default() }
}

fn script(text: &str, is_complete: bool) -> FactAnswer {
    let digest = Some(Digest::of(text.as_bytes()));
    FactAnswer::Script(ScriptFact {
        file: "x".to_owned(),
        text: text.to_owned(),
        is_complete,
        digest,
    })
}

/// The assessment with the same answer to every question, asked again as an observer does.
fn answered(command: &str, observer: FactObserver, answer: &FactAnswer) -> Assessment {
    let mut found: Vec<Fact> = Vec::new();
    for _ in 0..3 {
        let seen = with(command, observer, found.clone());
        for query in seen.queries {
            if !found.iter().any(|fact| fact.query == query) {
                found.push(Fact { query, answer: answer.clone() });
            }
        }
    }
    with(command, observer, found)
}

fn tier(command: &str, answer: &FactAnswer) -> Tier {
    answered(command, FactObserver::Hook, answer).tier
}

#[test]
fn what_nobody_could_look_at_asks() {
    use UnknownReason::{Changed, Deadline, Missing, TooLarge, Unreadable};
    let unknown = |reason| FactAnswer::Unknown { reason };
    for command in ["bash clean.sh", "./clean.sh", "npm run build", "python3 tool.py"] {
        assert!(tier(command, &unknown(Missing)) <= Tier::Low, "{command}");
        for reason in [Deadline, TooLarge, Changed, Unreadable] {
            let seen = answered(command, FactObserver::Hook, &unknown(reason));
            assert!(seen.tier >= Tier::Medium, "{command} {reason:?}");
            assert!(seen.reasons.iter().any(|why| why.code == "facts.unlooked"), "{command}");
        }
    }
    // Where a write leads may be known too late as well.
    assert!(tier("echo x > notes.txt", &unknown(Deadline)) >= Tier::Medium);
    assert!(tier("echo x > notes.txt", &unknown(Missing)) <= Tier::Low);
}

#[test]
fn the_questions_are_what_the_readers_met() {
    let path = |path: &str| FactQuery::Path { path: path.into() };
    let script = |path: &str| FactQuery::Script { path: path.into() };
    let target = |path: &str| FactQuery::Target { path: path.into() };
    for (command, query) in [
        ("rm -rf old/data", path("old/data")),
        ("cd web && rm -rf dist2", path("web/dist2")),
        ("cat notes.txt", target("notes.txt")),
        ("bash clean.sh", script("clean.sh")),
        ("cd tools && python3 x.py 1", script("tools/x.py")),
        ("bash -lc 'bash x.sh'", script("x.sh")),
        ("bash -lc 'cd /srv && . ./env.sh'", script("/srv/./env.sh")),
        ("./deploy/run.sh --now", script("./deploy/run.sh")),
        ("psql -f drop.sql", script("drop.sql")),
        ("npm t", FactQuery::PackageScript { folder: ".".into(), name: "test".into() }),
        ("make", FactQuery::MakeTarget { folder: ".".into(), file: None, target: None }),
        ("git push", FactQuery::GitRemote { folder: ".".into(), remote: None }),
        ("kubectl delete pod x", FactQuery::Current { system: RemoteSystem::Kubernetes }),
        ("git clean -fd", FactQuery::Worktree { folder: ".".into() }),
    ] {
        assert!(asked(command).contains(&query), "{command}: {:?}", asked(command));
    }
}

#[test]
fn what_only_a_shell_could_find_is_not_asked_about() {
    for command in [
        "bash $SCRIPT",
        "rm -rf $DIR/x",
        "rm -rf build*/x",
        "cd $X && rm -rf y",
        "cd a/.. && rm -rf y",
        "cd - && rm -rf y",
        "cd x; rm -rf y",
        "pushd x && popd && rm -rf y",
        "HOME=/x; rm -rf ~/y",
        "rm -rf ~bo/y",
        "docker exec web rm -rf y",
        "git -C .. clean -fd",
        "ls",
    ] {
        assert_eq!(asked(command), [], "{command}");
    }
}

#[test]
fn a_call_without_facts_asks_nothing_and_the_list_is_bounded() {
    assert!(without("rm -rf src").queries.is_empty());
    let many: Vec<String> = (0..200).map(|n| format!("bash s{n}.sh")).collect();
    assert_eq!(asked(&many.join("; ")).len(), MAX_QUERIES);
}

#[test]
fn deleting_what_can_be_had_again_does_not_ask() {
    let fact = |git| FactAnswer::Path(path_fact(git));
    assert_eq!(without("rm -rf src").tier, Tier::High);
    assert_eq!(tier("rm -rf src", &fact(clean())), Tier::Low);
    assert!(tier("bash -c 'python3 x.py; rm -rf src'", &fact(clean())) >= Tier::High);
    assert_eq!(tier("rm -rf src", &fact(GitCounts { built: 9, ..clean() })), Tier::Low);
    let missing = PathFact { kind: PathKind::Missing, git: None, ..path_fact(clean()) };
    assert_eq!(tier("rm -rf src", &FactAnswer::Path(missing.clone())), Tier::Low);
    for git in [
        GitCounts { changed: 1, ..clean() },
        GitCounts { untracked: 1, ..clean() },
        GitCounts { ignored: 1, ..clean() },
        GitCounts { is_exact: false, ..clean() },
    ] {
        assert_eq!(tier("rm -rf src", &fact(git)), Tier::High, "{git:?}");
    }
    for found in [
        PathFact { has_repository: true, ..path_fact(clean()) },
        PathFact { in_project: false, ..path_fact(clean()) },
        PathFact { in_project: false, ..missing },
        PathFact { git: None, ..path_fact(clean()) },
    ] {
        assert_eq!(tier("rm -rf src", &FactAnswer::Path(found.clone())), Tier::High, "{found:?}");
    }
}

#[test]
fn facts_do_not_outlive_a_change() {
    let fact = FactAnswer::Path(path_fact(clean()));
    for command in [
        "mv a src; rm -rf src",
        "cp -r ~/work src && rm -rf src",
        "tar xf a.tar; rm -rf src",
        "python3 tool.py; rm -rf src",
        "rm -rf src & mv ~/work src",
        "mv ~/work src | rm -rf src",
        "rm -rf src | mv ~/work src",
        "for i in 1 2; do rm -rf src; mv ~/work src; done",
        "while true; do rm -rf src; mv ~/work src; done",
        "trap 'rm -rf src' EXIT; mv ~/work src",
        "f() { rm -rf src; }; mv ~/work src; f",
        "f() { rm -rf src; }; f; for i in 1 2; do f; mv ~/work src; done",
        "watch rm -rf src",
        "ssh host rm -rf src",
        "python3 -c 'import os; os.system(\"rm -rf src\")'",
        "ln -s ~ src; rm -rf src/",
    ] {
        let (seen, before) = (tier(command, &fact), without(command).tier);
        assert!(seen >= Tier::High || seen >= before, "{command}: {before:?} to {seen:?}");
    }
}

#[test]
fn a_path_is_assessed_by_where_it_leads() {
    let leads = |to: &str| FactAnswer::Target(TargetFact { resolved: to.to_owned() });
    assert_eq!(tier("cat notes.txt", &leads("/home/ana/shop/notes.txt")), Tier::Safe);
    assert!(tier("cat notes.txt", &leads("/home/ana/.ssh/id_rsa")) >= Tier::High);
    assert!(tier("echo x > notes.txt", &leads("/etc/passwd")) >= Tier::High);
    let away = PathFact { located: "/home/ana".to_owned(), ..path_fact(clean()) };
    assert!(tier("rm -rf src", &FactAnswer::Path(away)) >= Tier::High);
}

#[test]
fn a_script_is_assessed_by_its_text() {
    let danger = script("echo hi\nrm -rf ~/Documents\n", true);
    for command in ["bash x.sh", "./x.sh", "source x.sh", "make clean", "npm run build"] {
        assert!(tier(command, &danger) >= Tier::High, "{command}");
        assert!(without(command).tier <= Tier::Low, "{command}");
    }
    let sql = script("DROP TABLE orders;", true);
    assert!(tier("psql -f x.sql", &sql) >= Tier::High);
    let code = script("import shutil\nshutil.rmtree('/home/ana/Documents')\n", true);
    assert!(tier("python3 tool.py", &code) >= Tier::High);
    assert_eq!(tier("bash /tmp/x.sh", &script("ls\n", true)), Tier::Low);
    assert_eq!(tier("/tmp/run", &script("ls\n", true)), Tier::Low);
    assert_eq!(tier("bash /tmp/x.sh", &script("ls\n", false)), Tier::Medium);
    assert_eq!(tier("bash /tmp/x.sh", &script("$X\n", true)), Tier::Medium);
    assert_eq!(tier("bash /tmp/x.sh", &script("if\n", true)), Tier::Medium);
}

#[test]
fn a_reset_of_a_clean_work_tree_loses_nothing() {
    let tree = FactAnswer::Worktree;
    let committed = GitCounts { is_index_committed: true, is_on_branch: true, ..clean() };
    for command in [
        "git reset --hard",
        "git reset -q --hard HEAD",
        "git checkout -f main",
        "git checkout main -- src/a.rs",
        "git restore --staged --worktree src",
    ] {
        assert_eq!(tier(command, &tree(committed)), Tier::Low, "{command}");
        // What was only added exists nowhere else.
        assert!(tier(command, &tree(clean())) >= Tier::Medium, "{command}");
        let changed = GitCounts { changed: 1, ..committed };
        assert!(tier(command, &tree(changed)) >= Tier::Medium, "{command}");
        let partial = GitCounts { is_exact: false, ..committed };
        assert!(tier(command, &tree(partial)) >= Tier::Medium, "{command}");
    }
    let untracked = GitCounts { untracked: 1, ..committed };
    assert_eq!(tier("git reset --hard", &tree(untracked)), Tier::Low);
    // Commits that no branch has would be lost.
    let detached = GitCounts { is_on_branch: false, ..committed };
    assert_eq!(tier("git reset --hard", &tree(detached)), Tier::Low);
    assert!(tier("git checkout -f main", &tree(detached)) >= Tier::Medium);
    for command in ["git reset --hard origin/main", "git reset --hard HEAD~2"] {
        assert!(tier(command, &tree(committed)) >= Tier::Medium, "{command}");
    }
    for command in [
        "git checkout -f main",
        "git -C ../other reset --hard",
        "GIT_DIR=../other/.git git reset --hard",
        "git reset --merge",
        "echo x > a.rs; git reset --hard",
    ] {
        assert!(tier(command, &tree(untracked)) >= Tier::Medium, "{command}");
    }
}

#[test]
fn destinations_raise() {
    let current = |name: &str| {
        let environment = LikelyEnvironment::of(name);
        FactAnswer::Current(CurrentFact { name: name.to_owned(), environment })
    };
    assert_eq!(tier("kubectl delete pod x", &current("prod-eu")), Tier::Medium);
    assert_eq!(tier("kubectl delete pod x", &current("kind-shop")), Tier::Low);
    assert_eq!(tier("kubectl get pods", &current("prod-eu")), without("kubectl get pods").tier);
    let remote = |url: &str| {
        let (name, urls) = ("fork".to_owned(), vec![url.to_owned()]);
        let origin = vec!["git@git.example:shop.git".to_owned()];
        FactAnswer::Remote(RemoteFact { name, urls, origin, is_complete: true })
    };
    assert_eq!(tier("git push fork main", &remote("https://git.example/a.git")), Tier::Low);
    assert_eq!(tier("git push fork main", &remote("https://evil.example/a.git")), Tier::Medium);
    let away = answered("git push fork", FactObserver::Agent, &remote("https://evil.example/a"));
    assert!(away.reasons.iter().any(|reason| reason.code == "git.push.other-host"));
}

#[test]
fn more_scripts_than_are_read_are_a_finding() {
    let many = |count: usize| {
        let starts = (0..count).map(|at| format!("bash s{at}.sh"));
        starts.collect::<Vec<_>>().join("; ")
    };
    let harmless = script("echo hi", true);
    // Each file has a name of its own, as an observer reports it.
    let assessed = |command: &str| {
        let found = asked(command).into_iter().map(|query| {
            let FactQuery::Script { path } = &query else { panic!("{query:?}") };
            let FactAnswer::Script(known) = &harmless else { panic!("no script") };
            let answer = FactAnswer::Script(ScriptFact { file: path.clone(), ..known.clone() });
            Fact { query, answer }
        });
        with(command, FactObserver::Hook, found.collect())
    };
    assert!(assessed(&many(16)).tier <= Tier::Low);
    assert!(assessed(&many(17)).tier >= Tier::Medium);
    // Other questions do not hide a script.
    let reads: Vec<String> = (0..MAX_QUERIES).map(|at| format!("cat f{at}")).collect();
    let reads = reads.join("; ");
    assert!(with(&reads, FactObserver::Hook, Vec::new()).tier <= Tier::Low);
    let hidden = format!("{reads}; bash x.sh");
    assert!(with(&hidden, FactObserver::Hook, Vec::new()).tier >= Tier::Medium);
    assert!(without(&hidden).tier <= Tier::Low);
}

#[test]
fn a_change_in_a_context_called_production_is_raised() {
    let code = "context.production-context";
    for (command, found) in [
        ("kubectl --context prod-eu delete pod x", true),
        ("kubectl --context kind-dev delete pod x", false),
        ("kubectl --context prod-eu get pods", false),
    ] {
        let seen = with(command, FactObserver::Hook, Vec::new());
        assert_eq!(seen.reasons.iter().any(|reason| reason.code == code), found, "{command}");
    }
}

#[test]
fn the_gravest_word_of_a_name_counts() {
    use LikelyEnvironment::{Development, Local, Production, Staging};
    for (name, expected) in [
        ("arn:aws:eks:eu-west-1:1:cluster/prod-eu", Some(Production)),
        ("gke_shop_europe-west1_staging", Some(Staging)),
        ("prod-test", Some(Production)),
        ("minikube", Some(Local)),
        ("kind-dev", Some(Development)),
        ("kind-shop", Some(Local)),
        ("product-catalog", None),
        ("", None),
    ] {
        assert_eq!(LikelyEnvironment::of(name), expected, "{name}");
    }
}

#[test]
fn only_the_right_key_makes_an_observer() {
    let key = FactsKey::new([7; 32]);
    let covers = covered("Bash", "{}", Some("/srv"), "[]");
    let proof = key.prove(FactObserver::Hook, &covers);
    let claim = FactsClaim { observer: FactObserver::Hook, covers, proof };
    assert_eq!(claim.observer(Some(&key)), FactObserver::Hook);
    assert_eq!(claim.observer(None), FactObserver::Agent);
    assert_eq!(claim.observer(Some(&FactsKey::new([8; 32]))), FactObserver::Agent);
    for covers in [
        covered("Bash", "{}", Some("/srv"), "[1]"),
        covered("Bash", "{}", None, "[]"),
        covered("Bash", "{\"a\":1}", Some("/srv"), "[]"),
        covered("Bas", "h{}", Some("/srv"), "[]"),
    ] {
        let other = FactsClaim { covers, ..claim };
        assert_eq!(other.observer(Some(&key)), FactObserver::Agent);
    }
}

#[test]
fn the_digest_binds_the_scripts() {
    let digest = |text: &str| {
        let query = FactQuery::Script { path: "x.sh".into() };
        let found = vec![Fact { query, answer: script(text, true) }];
        let facts = CallFacts { found, ..CallFacts::none(FactObserver::Hook) };
        let call = Call { facts: Some(Arc::new(facts)), ..placed("bash x.sh") };
        crate::call_digest::digest(&call, b"").canonical
    };
    assert_eq!(digest("ls"), digest("ls"));
    assert_ne!(digest("ls"), digest("rm"));
    let plain = crate::call_digest::digest(&placed("bash x.sh"), b"").canonical;
    assert_ne!(digest("ls"), plain);
    let none = CallFacts::none(FactObserver::Hook);
    let none = Call { facts: Some(Arc::new(none)), ..placed("bash x.sh") };
    assert_eq!(crate::call_digest::digest(&none, b"").canonical, plain);
}

#[test]
fn lines_say_what_matters() {
    let path = FactQuery::Path { path: "src".into() };
    let git = GitCounts { changed: 3, unchanged: 211, ..clean() };
    let found = vec![
        Fact { query: path, answer: FactAnswer::Path(path_fact(git)) },
        Fact {
            query: FactQuery::Target { path: "notes.txt".into() },
            answer: FactAnswer::Target(TargetFact { resolved: "/home/ana/.ssh/id".into() }),
        },
        Fact { query: FactQuery::Script { path: "x".into() }, answer: script("a\nb\n", true) },
    ];
    let facts = CallFacts { found, ..CallFacts::none(FactObserver::Hook) };
    assert_eq!(
        fact_lines(&facts),
        [
            "src: 214 files, 3 of them changed since the last commit",
            "notes.txt leads to /home/ana/.ssh/id",
            "runs x (2 lines, read)",
        ]
    );
}

fn any_answer() -> impl Strategy<Value = FactAnswer> {
    let counts = (0..3_u64, 0..3_u64, 0..3_u64, 0..3_u64, any::<[bool; 3]>());
    let counts = counts.prop_map(|(changed, untracked, ignored, built, known)| GitCounts {
        unchanged: 1,
        changed,
        untracked,
        ignored,
        built,
        is_exact: known[0],
        is_index_committed: known[1],
        is_on_branch: known[2],
    });
    let place = prop::sample::select(vec![
        "/home/ana/shop/src",
        "/home/ana",
        "/etc/passwd",
        "/home/ana/.ssh/id_rsa",
        "/",
        "/tmp/x",
    ]);
    let text = prop::sample::select(vec![
        "ls\n",
        "rm -rf ~/Documents\n",
        "rm -rf src\n",
        "print(1)\n",
        "DROP TABLE x;\n",
        "if\n",
        "bash x.sh\n",
        "",
    ]);
    let kind = prop::sample::select(vec![
        PathKind::Missing,
        PathKind::File,
        PathKind::Folder,
        PathKind::Symlink,
        PathKind::Special,
    ]);
    let path = (counts.clone(), place.clone(), kind, any::<(bool, bool, bool)>()).prop_map(
        |(git, place, kind, (in_project, has_git, size_exact))| {
            let mut fact = path_fact(git);
            fact.size.is_exact = size_exact;
            fact.git = fact.git.filter(|_| has_git);
            let located = place.to_owned();
            FactAnswer::Path(PathFact { kind, located, in_project, ..fact })
        },
    );
    let target =
        place.prop_map(|place| FactAnswer::Target(TargetFact { resolved: place.to_owned() }));
    let unknown = Just(FactAnswer::Unknown { reason: UnknownReason::Deadline });
    prop_oneof![
        path,
        target,
        counts.prop_map(FactAnswer::Worktree),
        (text, any::<bool>()).prop_map(|(text, is_complete)| script(text, is_complete)),
        unknown,
    ]
}

/// Whether an answer covers only part of what it is about.
fn is_partial(answer: &FactAnswer) -> bool {
    match answer {
        FactAnswer::Path(found) => {
            !found.size.is_exact || found.git.is_some_and(|git| !git.is_exact)
        }
        FactAnswer::Script(found) => !found.is_complete,
        FactAnswer::Worktree(git) => !git.is_exact,
        FactAnswer::Unknown { .. } => true,
        FactAnswer::Target(_)
        | FactAnswer::Remote(_)
        | FactAnswer::Current(_)
        | FactAnswer::Plan(_) => false,
    }
}

proptest! {
    #[test]
    fn facts_of_an_agent_never_lower(
        command in prop::sample::select(COMMANDS.to_vec()), answer in any_answer()
    ) {
        let seen = answered(command, FactObserver::Agent, &answer);
        let before = without(command);
        prop_assert!(seen.tier >= before.tier, "{command}: {:?}", answer);
        prop_assert!(seen.requires_human >= before.requires_human);
    }

    #[test]
    fn partial_answers_never_lower(
        command in prop::sample::select(COMMANDS.to_vec()), answer in any_answer()
    ) {
        let missing = matches!(&answer, FactAnswer::Path(found) if found.kind == PathKind::Missing);
        prop_assume!(is_partial(&answer) && !missing);
        let seen = answered(command, FactObserver::Hook, &answer);
        prop_assert!(seen.tier >= without(command).tier, "{command}: {:?}", answer);
    }

    #[test]
    fn questions_without_answers_change_nothing(
        command in prop::sample::select(COMMANDS.to_vec())
    ) {
        let (seen, before) = (with(command, FactObserver::Hook, Vec::new()), without(command));
        prop_assert_eq!(seen.tier, before.tier);
        prop_assert_eq!(seen.verdict, before.verdict);
        prop_assert_eq!(seen.points, before.points);
    }
}
