//! Code in languages that have no reader: it asks unless it only prints and computes.

use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;
use countersign_types::tier::Tier;
use proptest::prelude::*;

/// Programs with the option that takes their code.
const LANGUAGES: [(&str, &str); 14] = [
    ("lua", "-e"),
    ("luajit", "-e"),
    ("Rscript", "-e"),
    ("guile", "-c"),
    ("racket", "-e"),
    ("sbcl", "--eval"),
    ("groovy", "-e"),
    ("scala", "-e"),
    ("julia", "-e"),
    ("octave", "--eval"),
    ("elixir", "-e"),
    ("raku", "-e"),
    ("runghc", "-e"),
    ("swift", "-e"),
];

/// The tier for an agent in a project, where code is assessed by what it does.
fn tier(command: &str) -> Tier {
    let mut call = Call::shell(command);
    call.context.host = Some("claude-code");
    call.context.cwd = Some("/home/u/p");
    call.context.project = Some("/home/u/p");
    assess(&call, &Policy::default()).tier
}

proptest! {
    /// Whatever a function is called: if nobody knows it, a person is asked.
    #[test]
    fn an_unknown_function_asks(
        (program, option) in prop::sample::select(&LANGUAGES[..]),
        function in "[a-z]{2,9}_[a-z]{2,9}",
        before in prop::sample::select(vec!["", "print(1); ", "x = 2; "]),
    ) {
        let command = format!("{program} {option} '{before}{function}(\"docs\")'");
        prop_assert!(tier(&command) >= Tier::Medium, "{}", command);
    }
}

#[test]
fn printing_and_computing_do_not_ask() {
    for command in [
        "lua -e 'print(1 + 1)'",
        "Rscript -e 'cat(paste(\"a\", \"b\"))'",
        "julia -e 'println(sqrt(2))'",
        "octave --eval 'printf(\"%d\\n\", 3)'",
        "elixir -e 'IO.puts(\"hello\")'",
    ] {
        assert!(tier(command) <= Tier::Low, "{command}");
    }
}
