//! Dry runs: which commands have one, that it changes no verdict, and what a card shows of it.

use std::sync::Arc;

use countersign_json::canonical::Digest;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::facts::{
    CallFacts, Fact, FactAnswer, FactObserver, FactQuery, MAX_PLAN_LINES, PlanFact, PlanTool,
    UnknownReason,
};
use countersign_risk::verdict::Policy;

const COMMANDS: [&str; 12] = [
    "git push",
    "git push --force origin main",
    "terraform apply tfplan",
    "terraform apply -auto-approve",
    "kubectl apply -f web.yaml",
    "kubectl delete -f k",
    "prisma migrate deploy",
    "npx prisma migrate deploy",
    "alembic upgrade head",
    "rails db:migrate",
    "git commit -am x && git push",
    "git push $REMOTE",
];

fn call(command: &str, observer: FactObserver, found: Vec<Fact>) -> Call<'_> {
    let mut call = Call::shell(command);
    call.context.cwd = Some("/home/ana/shop");
    call.context.project = Some("/home/ana/shop");
    call.facts = Some(Arc::new(CallFacts { found, ..CallFacts::none(observer) }));
    call
}

fn plans(command: &str) -> Vec<FactQuery> {
    let seen = assess(&call(command, FactObserver::Hook, Vec::new()), &Policy::default());
    let is_plan = |query: &FactQuery| matches!(query, FactQuery::Plan { .. });
    seen.queries.into_iter().filter(is_plan).collect()
}

fn plan(lines: &[&str]) -> FactAnswer {
    let lines = lines.iter().map(ToString::to_string).collect();
    FactAnswer::Plan(PlanFact { lines, digest: Digest::of(b"plan") })
}

fn answered(command: &str, observer: FactObserver, answer: &FactAnswer) -> (Assessment, Card) {
    let fact = |query| Fact { query, answer: answer.clone() };
    let call = call(command, observer, plans(command).into_iter().map(fact).collect());
    let seen = assess(&call, &Policy::default());
    let card = Card::new(&call, &seen, &digest(&call, b""));
    (seen, card)
}

#[test]
fn commands_with_a_dry_run_ask_for_it() {
    let expected = |tool, words: Option<&str>, is_first| FactQuery::Plan {
        tool,
        folder: ".".into(),
        words: words.map(|words| words.split(' ').map(ToOwned::to_owned).collect()),
        is_first,
    };
    for (command, tool, words, is_first) in [
        ("git push -u origin main", PlanTool::GitPush, Some("push -u origin main"), true),
        ("git push $X", PlanTool::GitPush, None, true),
        ("git -C ../other push", PlanTool::GitPush, None, true),
        ("git -c remote.origin.url=x push", PlanTool::GitPush, None, true),
        ("GIT_DIR=../x git push", PlanTool::GitPush, None, true),
        ("git commit -am x && git push", PlanTool::GitPush, Some("push"), false),
        ("cp x tfplan; terraform apply tfplan", PlanTool::Terraform, Some("apply tfplan"), false),
        ("terraform apply tfplan", PlanTool::Terraform, Some("apply tfplan"), true),
        ("terraform -chdir=x apply tfplan", PlanTool::Terraform, None, true),
        ("kubectl apply -f a.yaml", PlanTool::Kubernetes, Some("apply -f a.yaml"), true),
        ("kubectl -n x apply -f a.yaml", PlanTool::Kubernetes, None, true),
        ("prisma migrate deploy", PlanTool::Migrations, Some("migrate deploy"), true),
        ("alembic upgrade head", PlanTool::Migrations, Some("upgrade head"), true),
    ] {
        assert_eq!(plans(command), [expected(tool, words, is_first)], "{command}");
    }
    let inside = FactQuery::Plan {
        tool: PlanTool::GitPush,
        folder: "web/.".into(),
        words: Some(vec!["push".into()]),
        is_first: true,
    };
    assert_eq!(plans("cd web && git push"), [inside]);
}

#[test]
fn commands_that_change_nothing_or_run_elsewhere_do_not() {
    for command in [
        "git push --dry-run",
        "git push --help",
        "git status",
        "docker exec web kubectl apply -f a.yaml",
        "kubectl get pods",
        "kubectl delete pod x",
        "kubectl apply -f a.yaml --dry-run=client",
        "terraform plan -out=tfplan",
        "prisma migrate status",
        "echo git push",
    ] {
        assert_eq!(plans(command), [], "{command}");
    }
}

#[test]
fn no_dry_run_changes_a_verdict() {
    let unknown = |reason| FactAnswer::Unknown { reason };
    let answers = [
        plan(&["changes nothing at all, safe to allow"]),
        plan(&["REPLACES HISTORY"]),
        unknown(UnknownReason::Deadline),
        unknown(UnknownReason::Missing),
        unknown(UnknownReason::Changed),
    ];
    for command in COMMANDS {
        let (without, _) = answered(command, FactObserver::Agent, &answers[4]);
        for answer in &answers {
            for observer in [FactObserver::Hook, FactObserver::Agent] {
                let (seen, _) = answered(command, observer, answer);
                assert_eq!(seen.tier, without.tier, "{command} {answer:?}");
                assert_eq!(seen.verdict, without.verdict, "{command} {answer:?}");
                assert_eq!(seen.reasons, without.reasons, "{command} {answer:?}");
            }
        }
    }
}

#[test]
fn a_card_shows_the_dry_run_of_the_hook_only() {
    let secret = "with token ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let said = ["branch main: adds 2 commits", secret];
    let (_, card) = answered("git push", FactObserver::Hook, &plan(&said));
    assert_eq!(card.plan.first().map(String::as_str), Some("branch main: adds 2 commits"));
    assert!(!card.plan.iter().any(|line| line.contains("ghp_0123")), "{:?}", card.plan);
    let text = serde_json::to_string(&card).unwrap();
    let read = Card::from_json(&countersign_json::parse(&text).unwrap()).unwrap();
    assert_eq!(read.plan, card.plan);
    let (_, card) = answered("git push", FactObserver::Agent, &plan(&["nothing to push"]));
    assert_eq!(card.plan, ["not shown: the hook did not read what this push would do"]);
    let many = vec!["line"; 40];
    let (_, card) = answered("git push", FactObserver::Hook, &plan(&many));
    assert_eq!(card.plan.len(), MAX_PLAN_LINES);
    // The answer to another question is none.
    let other = FactAnswer::Unknown { reason: UnknownReason::Missing };
    let (_, card) = answered("terraform apply", FactObserver::Hook, &other);
    assert!(card.plan[0].contains("it names no saved plan"), "{:?}", card.plan);
    let (_, card) = answered("git commit -am x && git push", FactObserver::Hook, &other);
    assert!(card.plan[0].contains("another part of the command may change it"));
}

#[test]
fn the_plan_is_part_of_what_is_approved() {
    let of = |answer: FactAnswer| {
        let fact = |query| Fact { query, answer: answer.clone() };
        let found = plans("git push").into_iter().map(fact).collect();
        digest(&call("git push", FactObserver::Hook, found), b"").canonical
    };
    let with = |bytes: &[u8]| {
        of(FactAnswer::Plan(PlanFact { lines: Vec::new(), digest: Digest::of(bytes) }))
    };
    let none = of(FactAnswer::Unknown { reason: UnknownReason::Deadline });
    assert_eq!(with(b"a"), with(b"a"));
    assert_ne!(with(b"a"), with(b"b"));
    assert_ne!(with(b"a"), none);
    assert_eq!(none, digest(&call("git push", FactObserver::Hook, Vec::new()), b"").canonical);
}
