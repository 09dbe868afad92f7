//! Where readers differ, and why. An entry that no longer differs is said and can go.

/// One reason and the texts it speaks of.
pub type Known = (&'static str, &'static [&'static str]);

/// Faults of our own reader, found here and not yet mended. The list is to be emptied.
pub const OPEN: &[Known] = &[(
    "a here-document inside `<(…)` inside `[[ … ]]` is not read",
    &["[[ -n <(cat <<E\n\"\nE\n) ]]\n"],
)];

/// Texts that bash accepts and we refuse.
pub const OURS_STRICTER: &[Known] = &[(
    "bash looks into the body only when it expands it, and fails there",
    &["cat <<EOF\n$(unclosed\nEOF\n"],
)];

/// Texts that bash refuses and we read. Whoever runs them gets an error and nothing happens, or
/// has another shell; either way they are assessed for what they say.
pub const OURS_LAXER: &[Known] = &[
    (
        "an empty list holds nothing that could run; zsh takes most of them",
        &[
            "( )",
            "()",
            ";",
            "; a",
            "{ ; }",
            "{ }",
            "if a; then fi",
            "if; then a; fi",
            "while; do a; done",
            "coproc",
        ],
    ),
    ("two groups side by side: both are assessed", &["(a) (b)"]),
    ("dash and zsh take any command as a function's body", &["f() echo", "function f echo"]),
    (
        "`[[ … ]]` is looked at for the commands inside it, not for its grammar",
        &["[[\n  a\n]]\n", "[[ ( a ]]", "[[ -f ]]", "[[ a == ]]", "[[ a b ]]"],
    ),
    (
        "`for (( … ))` is looked at for the commands inside it, not for its three parts",
        &["for ((;;;)); do a; done", "for ((i=0;i<3)); do a; done"],
    ),
    ("CR before a line end is passed over", &["if true; then\r\n  echo a\r\nfi\r\n"]),
];

/// Where tree-sitter-bash finds other commands.
pub const TREE_SITTER: &[Known] = &[
    ("tree-sitter joins at a backslash before CR LF; bash does not", &["echo a \\\r\n  b\r\n"]),
    (
        "tree-sitter reads `time`, `coproc` and a second `!` as commands",
        &[
            "! ! a",
            "! time a",
            "coproc cat",
            "coproc while read x; do echo; done",
            "coproc N { cat; }",
            "coproc N {\n  cat\n}\n",
            "coproc { cat; }",
            "time",
            "time ! a",
            "time (a)",
            "time -p a | b",
            "time a",
            "time {\n  a\n}\n",
            "time { a; b; }",
        ],
    ),
    ("tree-sitter takes it for an assignment; bash runs a program of that name", &["1a=b"]),
    ("tree-sitter takes it for a test; bash runs a program of that name", &["[=]"]),
    ("tree-sitter ends the here-document at an indented mark", &["cat << EOF\n EOF\nEOF\n"]),
    (
        "tree-sitter does not look into backquotes there",
        &[
            "cat <<EOF\n`echo \"bq\"`\n$(echo \"dq ' \")\nEOF\n",
            "cat <<EOF\nhi $x ${y:-z} $(id) `id` \\$no\nEOF\necho after\n",
            "echo \"${x:-$(a \"b\")}\" \"${x:-`c`}\"",
            "echo ${x:-$(id -u)} ${x:=`whoami`} ${x:?no} ${x:+yes}",
            "echo `echo \\`id\\``",
        ],
    ),
    ("tree-sitter ends the word at the line continuation", &["ec\\\nho a\n"]),
];

/// Where shuck finds other commands.
pub const SHUCK: &[Known] = &[
    ("shuck keeps the CR in the name", &["echo a \\\r\n  b\r\n"]),
    ("shuck reads a second `!` as a command", &["! ! a"]),
    ("with extglob it is a pattern, without it a negated group: we read the latter", &["!(a)"]),
    (
        "shuck reads it as arithmetic; bash does not, as `))` does not close `((`",
        &["((a)||(b))", "echo $(( 1 ) )", "echo $((echo a); (echo b))"],
    ),
    ("shuck keeps the backslash", &["\\a"]),
    ("shuck does not look into nested backquotes", &["echo `echo \\`id\\``"]),
];

/// The reason if a text is on a list.
pub fn reason(lists: &[&[Known]], text: &str) -> Option<&'static str> {
    let all = lists.iter().flat_map(|list| list.iter());
    all.filter(|(_, texts)| texts.contains(&text)).map(|(why, _)| *why).next()
}
