//! The questions about a call, and which answers count.

use super::*;
use crate::assess::assess;
use crate::call::Call;
use crate::verdict::Policy;

fn asked(command: &str) -> Vec<FactQuery> {
    let call = Call::shell(command);
    queries(&call, &assess(&call, &Policy::default()))
}

fn script(path: &str) -> FactQuery {
    FactQuery::Script { path: path.to_owned() }
}

#[test]
fn scripts_that_would_run_are_asked_about() {
    for (command, path) in [
        ("bash clean.sh", "clean.sh"),
        ("./deploy/run.sh --now", "./deploy/run.sh"),
        ("cd tools && python3 x.py 1", "tools/x.py"),
        ("sudo -E env A=1 node server.js", "server.js"),
        ("bash -lc 'cd /srv; . ./env.sh'", "/srv/./env.sh"),
        ("psql -f drop.sql", "drop.sql"),
        ("mysql shop < drop.sql", "drop.sql"),
        ("(cd a; ruby b.rb)", "a/b.rb"),
    ] {
        assert!(asked(command).contains(&script(path)), "{command}: {:?}", asked(command));
    }
    assert!(
        !asked("python3 -c 'print(1)'").iter().any(|one| matches!(one, FactQuery::Script { .. }))
    );
    assert!(asked("bash $SCRIPT").is_empty());
}

#[test]
fn named_scripts_and_targets_are_asked_about() {
    let package = |name: &str| FactQuery::PackageScript { folder: ".".into(), name: name.into() };
    assert!(asked("npm run build").contains(&package("build")));
    assert!(asked("npm t").contains(&package("test")));
    assert!(asked("yarn deploy --prod").contains(&package("deploy")));
    let target = |folder: &str, file: Option<&str>, target: Option<&str>| FactQuery::MakeTarget {
        folder: folder.into(),
        file: file.map(Into::into),
        target: target.map(Into::into),
    };
    assert_eq!(asked("make"), [target(".", None, None)]);
    assert_eq!(
        asked("make -C sub -f other.mk CC=gcc clean all"),
        [
            target("sub", Some("other.mk"), Some("clean")),
            target("sub", Some("other.mk"), Some("all"))
        ]
    );
}

#[test]
fn places_that_a_call_reaches_are_asked_about() {
    let push = |folder: &str, remote: Option<&str>| FactQuery::GitRemote {
        folder: folder.into(),
        remote: remote.map(Into::into),
    };
    assert!(asked("git push").contains(&push(".", None)));
    assert!(asked("git -C ../x push --force origin main").contains(&push("../x", Some("origin"))));
    let current = |system| FactQuery::Current { system };
    assert!(asked("kubectl delete pod x").contains(&current(RemoteSystem::Kubernetes)));
    assert!(asked("aws s3 rm s3://x").contains(&current(RemoteSystem::Aws)));
}

#[test]
fn deleted_and_written_paths_are_asked_about_and_the_list_is_bounded() {
    let path = FactQuery::Path { path: "old/data".to_owned() };
    assert!(asked("rm -rf old/data").contains(&path), "{:?}", asked("rm -rf old/data"));
    let many: Vec<String> = (0..200).map(|n| format!("bash s{n}.sh")).collect();
    assert_eq!(asked(&many.join("; ")).len(), MAX_QUERIES);
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
fn what_an_agent_says_never_lowers() {
    assert!(!FactObserver::Agent.can_lower());
    assert!(FactObserver::Hook.can_lower());
    let query = script("x.sh");
    let answer = FactAnswer::Unknown { reason: UnknownReason::Deadline };
    let found = vec![Fact { query: query.clone(), answer }];
    let facts = CallFacts { observer: FactObserver::Hook, found };
    assert_eq!(facts.answer(&query), None);
    let counts = GitCounts { unchanged: 3, is_exact: true, ..GitCounts::default() };
    assert!(counts.is_recoverable());
    assert!(!GitCounts { is_exact: false, ..counts }.is_recoverable());
    assert!(!GitCounts { ignored: 1, ..counts }.is_recoverable());
}
