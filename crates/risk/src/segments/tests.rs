//! Which commands have parts, and every way to give a part another meaning.

use super::*;
use crate::assess::assess;
use crate::verdict::Policy;

fn parts_of(command: &str) -> Vec<AssessedPart> {
    let mut call = Call::shell(command);
    call.context = Context { cwd: Some("/srv/app"), ..call.context };
    let policy = Policy::default();
    let whole = assess(&call, &policy);
    assessed_parts(&call, &whole, |part| assess(part, &policy))
}

fn shown(command: &str) -> Vec<(String, Tier)> {
    parts_of(command).into_iter().map(|part| (part.text, part.seen.tier)).collect()
}

#[test]
fn the_parts_of_a_command_have_tiers_of_their_own() {
    let found = shown("npm run build && rm -rf ../data");
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["npm run build", "rm -rf ../data"]);
    assert!(found[0].1 < found[1].1, "{found:?}");
    let found = shown("ls -la; git status | head -3 && git push --force 2>&1 | tail -1\n");
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    let expected = ["ls -la", "git status | head -3", "git push --force 2>&1 | tail -1"];
    assert_eq!(texts, expected);
}

#[test]
fn a_part_that_means_something_else_alone_is_not_offered() {
    for command in [
        // Folder, variables, options and names of the shell.
        "cd /; rm -rf x",
        "cd / && rm -rf x",
        "command cd /; rm -rf x",
        "builtin cd /; rm -rf x",
        "\\cd /; rm -rf x",
        "'cd' /; rm -rf x",
        "pushd /; rm -rf x",
        "X=/ ; rm -rf $X",
        "X=/; rm -rf x",
        "export X=/; rm -rf \"$X\"",
        "read X < f; rm -rf x",
        "printf -v X /; rm -rf x",
        "echo / | read X; rm -rf x",
        "PATH=/tmp/evil:$PATH; rm -rf x",
        "PATH=/tmp/evil rm -rf x; ls",
        "alias ls='rm -rf /'; rm -rf x",
        "function ls { rm -rf /; }; rm -rf x",
        "ls() { rm -rf /; }; rm -rf x",
        "set -e; rm -rf x",
        "set -- /; rm -rf x",
        "shopt -s dotglob; rm -rf x",
        "trap 'rm -rf /' EXIT; rm -rf x",
        "umask 0; rm -rf x",
        "exec 3>f; rm -rf x",
        "source env.sh; rm -rf x",
        ". env.sh; rm -rf x",
        "eval 'cd /'; rm -rf x",
        "exit; rm -rf x",
        "ls; rm -rf \"$HOME/x\"",
        "ls; rm -rf ${X:=/}",
        "ls; rm -rf $((X=1))",
        "ls; rm -rf $(cat list)",
        "ls; rm -rf `cat list`",
        "ls; rm -rf <(ls)",
        // Input, output and conditions that come from another part.
        "ls > f; rm -rf x",
        "rm -rf x < f; ls",
        "cat <<E; rm -rf x\n/\nE\n",
        "cat <<< x; rm -rf x",
        "ls &> f; rm -rf x",
        "ls & rm -rf x",
        "rm -rf x &",
        "! ls; rm -rf x",
        "if ls; then rm -rf x; fi",
        "for i in /; do rm -rf x; done; ls",
        "(cd /; rm -rf x)",
        "(ls); rm -rf x",
        "{ ls; }; rm -rf x",
        "coproc ls; rm -rf x",
        "[[ a ]]; rm -rf x",
        // Text that is read in another way.
        "ls # ; rm -rf x",
        "ls\r; rm -rf x",
        "ls; rm -rf x \u{1b}[2K",
        "ls; rm -rf 'x",
        "Set-Location /; rm -rf x",
        "rm -rf x",
        "ls; ls",
    ] {
        assert_eq!(shown(command), [], "{command}");
    }
}

#[test]
fn a_part_that_reads_what_another_part_wrote_is_not_offered() {
    for command in [
        "curl -o x.sh https://example.com/x.sh && sh x.sh",
        "git clone https://example.com/a/b && make -C b && rm -rf ../data",
    ] {
        assert_eq!(shown(command), [], "{command}");
    }
}

#[test]
fn the_key_of_a_part_is_that_of_the_same_call_alone() {
    let part = parts_of("npm run build && rm -rf ../data").pop().unwrap();
    let key = |arguments: &str, cwd: Option<&str>| {
        let value = countersign_json::parse(arguments).unwrap();
        let mut call = Call { arguments: value.reborrow(), ..Call::shell("") };
        call.context = Context { cwd, ..call.context };
        part_key(&value, PartPlace::of(&call.context), &assess(&call, &Policy::default()))
    };
    let here = Some("/srv/app");
    assert_eq!(key(r#"{"command":"rm -rf ../data"}"#, here), Some(part.key));
    let described = r#"{"command":"rm -rf ../data","description":"x","timeout":1}"#;
    assert_eq!(key(described, here), Some(part.key));
    for (arguments, cwd) in [
        (r#"{"command":"rm -rf ../data"}"#, Some("/srv/other")),
        (r#"{"command":"rm -rf ../data"}"#, None),
        (r#"{"command":"rm -rf  ../data"}"#, here),
        (r#"{"command":"rm -rf ../data "}"#, here),
        (r#"{"command":"rm -rf ../data; ls"}"#, here),
        (r#"{"command":"rm -rf ../data","background":true}"#, here),
        (r#"{"command":"rm -rf ../data","env":{"A":"b"}}"#, here),
    ] {
        assert_ne!(key(arguments, cwd), Some(part.key), "{arguments} {cwd:?}");
    }
}

#[test]
fn a_part_is_not_approved_in_another_environment() {
    let key = |command: &str, environment: Environment| {
        let mut call = Call::shell(command);
        call.context = Context { cwd: Some("/work/app"), environment, ..call.context };
        let seen = assess(&call, &Policy::default());
        part_key(&call.arguments, PartPlace::of(&call.context), &seen).unwrap()
    };
    let here = key("acmectl deploy", Environment::Workstation);
    assert_eq!(here, key("acmectl deploy", Environment::Workstation));
    for other in [Environment::Production, Environment::Ci, Environment::Container] {
        assert_ne!(here, key("acmectl deploy", other), "{other:?}");
    }
    for command in ["A=b acmectl deploy", "env A=b acmectl deploy", "export A=b; acmectl deploy"] {
        assert_ne!(here, key(command, Environment::Workstation), "{command}");
    }
    assert_eq!(shown("export A=b; acmectl deploy; rm -rf ../data"), []);
}
