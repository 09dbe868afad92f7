//! Families of hostile texts: each makes a text of about `n` bytes that costs as much as it can.

use std::fmt::Write;

/// A name and what makes a text of about so many bytes.
pub type Family = (&'static str, fn(usize) -> String);

/// Shell texts.
pub const SHELL: &[Family] = &[
    ("$( unclosed", |n| fill("$(", n)),
    ("$( closed", |n| nest("$(a ", ")", n)),
    ("\"$( closed", |n| nest("\"$(a ", ")\"", n)),
    ("backquotes", |n| fill("`a` ", n)),
    ("backquotes unclosed", |n| fill("\\`", n)),
    ("backquotes escaped", backquotes),
    ("((", |n| fill("((", n)),
    ("(( then quote", |n| fill("((\"", n)),
    ("((a) ", |n| fill("((a);(b)) ; ", n)),
    ("$((", |n| nest("$((1+", "))", n)),
    ("$(( side by side", |n| fill("$((1+(2))) ", n)),
    ("$(( never closed", |n| fill("a $((1)", n)),
    ("$[", |n| fill("$[a ", n)),
    ("( closed", |n| nest("(", ")", n)),
    ("{ closed", |n| nest("{ ", ";}", n)),
    ("{ unclosed", |n| fill("{ ", n)),
    ("quotes", |n| fill("'a'\"b\"", n)),
    ("quotes unclosed", |n| fill("\"'", n)),
    ("$' escapes", |n| format!("$'{}'", fill("\\x41\\u00e9\\101", n))),
    ("backslashes", |n| fill("\\", n)),
    ("continuations", |n| fill("\\\n", n)),
    ("comments", |n| fill("#'\n", n)),
    ("newlines", |n| fill("\n", n)),
    ("carriage returns", |n| fill("a\r\n", n)),
    ("NUL bytes", |n| fill("\0", n)),
    ("four-byte letters", |n| fill("\u{1F600}", n)),
    ("; chain", |n| fill("a;", n)),
    ("&& chain", |n| fill("ls && ", n) + "ls"),
    ("& chain", |n| fill("a&", n)),
    ("pipes", |n| fill("a|", n) + "a"),
    ("pipes of cat", |n| fill("cat|", n) + "sh"),
    ("rm chain", |n| fill("rm -rf a;", n)),
    ("rm of many", |n| "rm -rf".to_owned() + &numbered(" /f", n)),
    ("distinct programs", |n| numbered(";prog", n)),
    ("distinct deletes", |n| numbered(";rm f", n)),
    ("distinct writes", |n| numbered(";echo a >f", n)),
    ("distinct hosts", |n| numbered(";curl http://h.example/", n)),
    ("here-documents", |n| fill("cat <<E\na\nE\n", n)),
    ("here-documents waiting", |n| format!("cat {}\n", fill("<<E ", n))),
    ("here-documents unclosed", |n| fill("cat <<E\n", n)),
    ("here-documents nested", |n| nest("cat <<E\n$(", ")\nE\n", n)),
    ("here-document lines", |n| format!("cat <<E\n{}E\n", fill("E \n", n))),
    ("here-document of $(", |n| format!("cat <<E\n{}\nE\n", fill("$(a) ", n))),
    ("here-document to sh", |n| format!("sh <<E\n{}\nE\n", fill("rm -rf a\n", n))),
    ("here-strings", |n| fill("a <<<b;", n)),
    ("redirections", |n| "a".to_owned() + &fill(" >b", n)),
    ("redirections apart", |n| "a".to_owned() + &numbered(" >f", n)),
    ("braces {a,b}{a,b}", |n| "echo ".to_owned() + &fill("{a,b}", n)),
    ("braces nested", |n| "echo ".to_owned() + &nest("{a,", "}", n)),
    ("braces unclosed", |n| "echo ".to_owned() + &fill("{a,", n)),
    ("braces {1..999999}", |n| "echo ".to_owned() + &fill("{1..999999}", n)),
    ("${a:-${a:-", |n| nest("${a:-", "}", n)),
    ("${a:-} side by side", |n| "echo ".to_owned() + &fill("${a:-b}", n)),
    ("${a//b/c}", |n| format!("a={}; echo {}", fill("b", n / 2), fill("${a//b/cc}", n / 2))),
    ("${a[", |n| "echo ".to_owned() + &fill("${a[", n)),
    ("${a:x:y}", |n| "a=b; echo ".to_owned() + &fill("${a:0:1}", n)),
    ("one word", |n| fill("a", n)),
    ("one quoted word", |n| format!("echo '{}'", fill("a", n))),
    ("many words", |n| fill("a ", n)),
    ("many options", |n| "rm".to_owned() + &fill(" -r", n)),
    ("globs", |n| "rm ".to_owned() + &fill("*?[a]", n)),
    ("programs by pattern", |n| fill("f* ", n)),
    ("programs by pattern and brace", |n| fill("{1..9}/f* ", n)),
    ("extglobs", |n| "rm ".to_owned() + &fill("!(", n)),
    ("extglobs closed", |n| "rm ".to_owned() + &nest("!(a|", ")", n)),
    ("path up", |n| "rm -rf /".to_owned() + &fill("a/../", n)),
    ("X=$X$X", |n| "X=ab;".to_owned() + &fill("X=$X$X;", n) + "$X"),
    ("X=$X$X used", |n| "X=ab;".to_owned() + &fill("X=$X$X;echo $X;", n)),
    ("X+=$X", |n| "X=ab;".to_owned() + &fill("X+=$X;", n) + "eval $X"),
    ("X=a used", |n| format!("X={};{}", fill("a", n / 2), fill("$X ", n / 2))),
    ("X=words used", |n| format!("X='{}';{}", fill("a ", n / 2), fill("$X ", n / 2))),
    ("variables", |n| numbered(";v=$v", n)),
    ("variables apart", |n| assignments(n)),
    ("variables used", |n| assignments(n / 2) + &numbered(";echo $v", n / 2)),
    ("arrays", |n| format!("x=({})", fill("a ", n))),
    ("assignments before", |n| fill("a=b ", n) + "c"),
    ("for nested", |n| nest("for a in 1 2 3 4 5 6; do ", "; done", n)),
    ("for nested 30", |n| for_nest(30, n)),
    ("for of many", |n| format!("for a in {}; do rm $a; done", fill("b ", n))),
    ("for in a row", |n| fill("for a in 1 2 3 4 5 6;do a;done;", n)),
    ("while nested", |n| nest("while a; do ", "; done", n)),
    ("if nested", |n| nest("if a; then ", "; fi", n)),
    ("if unclosed", |n| fill("if a; then ", n)),
    ("elif", |n| "if a; then b;".to_owned() + &fill("elif a; then b;", n) + "fi"),
    ("case nested", |n| nest("case a in a) ", ";; esac", n)),
    ("case arms", |n| format!("case a in {} esac", fill("a|b) c;; ", n))),
    ("[[ (", |n| format!("[[ {} a {} ]]", fill("( ", n / 2), fill(" )", n / 2))),
    ("[[ =~ (", |n| "[[ a =~ ".to_owned() + &fill("(", n)),
    ("[[ &&", |n| format!("[[ {} a ]]", fill("a && ", n))),
    ("functions", |n| fill("f(){ a;};", n)),
    ("functions apart", functions),
    ("function calls itself", |n| fill("f(){ f|f& };f;", n)),
    ("functions doubling", doubling),
    ("function called often", |n| "f(){ rm -rf a; };".to_owned() + &fill("f;", n)),
    ("aliases", |n| numbered(";alias a=b", n)),
    ("alias loops", |n| fill("alias a=b b=a;a;", n)),
    ("eval chain", |n| fill("eval ", n) + "a"),
    ("eval in a row", |n| fill("eval 'a;b';", n)),
    ("eval of one long text", |n| format!("eval '{}'", fill("rm -rf a;", n))),
    ("sh -c in a row", |n| fill("sh -c 'a;b';", n)),
    ("sh -c nested", |n| quoted_shells(n)),
    ("sudo chain", |n| fill("sudo ", n) + "a"),
    ("wrappers", |n| fill("env nice timeout 5 nohup ", n) + "rm -rf /"),
    ("xargs chain", |n| fill("xargs ", n) + "rm"),
    ("find -exec", |n| "find .".to_owned() + &fill(" -exec a {} ;", n)),
    ("find -exec escaped", |n| "find .".to_owned() + &fill(" -exec rm {} \\;", n)),
    ("base64 in a row", |n| fill("echo cm0gLXJmIC8K|base64 -d|sh;", n)),
    ("base64 of one long text", |n| format!("echo {}|base64 -d|sh", fill("cm0gLXJmIC8K", n))),
    ("base64 of base64", base64_chain),
    ("xxd of one long text", |n| format!("echo {}|xxd -r -p|sh", fill("726d202d7266202f0a", n))),
    ("printf escapes", |n| format!("printf '{}'|sh", fill("\\x72\\155", n))),
    ("echo to sh in a row", |n| fill("echo a|sh;", n)),
    ("tee", |n| "echo a".to_owned() + &fill("|tee b", n) + "|sh"),
    ("file written and run", |n| fill("echo a>f;sh f;", n)),
    ("files written then run", files),
    ("cd chain", |n| fill("cd a;", n)),
    ("cd then rm", |n| fill("cd a;rm -rf b;", n)),
    ("<( closed", |n| nest("<(a ", ")", n)),
    ("<( side by side", |n| "cat ".to_owned() + &fill("<(a) ", n)),
    ("python -c in a row", |n| fill("python -c 'a()';", n)),
    ("python -c of one long text", |n| format!("python -c '{}'", fill("a();", n))),
    ("node -e of one long text", |n| format!("node -e '{}'", fill("a();", n))),
    ("perl -e of one long text", |n| format!("perl -e '{}'", fill("a();", n))),
    ("awk of one long text", |n| format!("awk '{}'", fill("{system(a)}", n))),
    ("sed of one long text", |n| format!("sed '{}'", fill("s/a/b/e;", n))),
    ("psql of one long text", |n| format!("psql -c '{}'", fill("delete from a;", n))),
    ("mongo of one long text", |n| format!("mongosh --eval '{}'", fill("db.a.drop();", n))),
    ("sql brackets", |n| format!("psql -c '{}'", fill("select (", n))),
    ("python brackets", |n| format!("python -c '{}'", fill("a(", n))),
    ("python strings joined", |n| format!("python -c '{}'", fill("\"a\"+", n))),
    ("python assignments", |n| format!("python -c '{}'", fill("a=a+a;", n))),
    ("javascript brackets", |n| format!("node -e '{}'", fill("a({[`${", n))),
    ("git chain", |n| fill("git status;", n)),
    ("git -c chain", |n| "git".to_owned() + &fill(" -c a=b", n) + " status"),
    ("docker run", |n| "docker run".to_owned() + &fill(" -v /:/x", n) + " a sh"),
    ("ssh chain", |n| fill("ssh h ", n) + "rm"),
    ("curl many", |n| "curl".to_owned() + &fill(" http://a.example", n)),
    ("curl -H", |n| "curl".to_owned() + &fill(" -H a:b", n)),
];

/// Texts a person may have written.
pub const TEXT: &[Family] = &[
    ("one letter", |n| fill("a", n)),
    ("words", |n| fill("kill the process ", n)),
    ("signs", |n| fill("I want to die. ", n)),
    ("signs without stops", |n| fill("want to die kill myself ", n)),
    ("half signs", |n| fill("I want to ", n)),
    ("letters apart", |n| fill("s u i c i d e ", n)),
    ("letters with dots", |n| fill("s.u.i.c.i.d.e ", n)),
    ("zero-width", |n| fill("d\u{200B}i\u{200B}e ", n)),
    ("combining marks", |n| fill("e\u{301}\u{302}\u{303}", n)),
    ("quotes", |n| fill("\"I want to die\" ", n)),
    ("quotes unclosed", |n| fill("\"die ", n)),
    ("negations", |n| fill("not not I never ", n)),
    ("CJK", |n| fill("死にたい", n)),
    ("Arabic", |n| fill("أريد أن أموت ", n)),
    ("four-byte letters", |n| fill("\u{1F600}", n)),
    ("line breaks", |n| fill("die\n", n)),
];

/// JSON texts.
pub const JSON: &[Family] = &[
    ("[ unclosed", |n| fill("[", n)),
    ("[ closed", |n| nest("[", "]", n)),
    ("{ unclosed", |n| fill("{\"a\":", n)),
    ("{ closed", |n| nest("{\"a\":[", "]}", n)),
    ("64 deep in a row", |n| format!("[{}1]", fill(&(nest("[", "]", 120) + ","), n))),
    ("long number", |n| fill("9", n)),
    ("long fraction", |n| "0.".to_owned() + &fill("3", n)),
    ("long exponent", |n| "1e".to_owned() + &fill("9", n)),
    ("many numbers", |n| format!("[{}1]", fill("1234.5e6,", n))),
    ("many long numbers", |n| format!("[{}1]", fill("12345678901234567890.123456789,", n))),
    ("many keys", keys),
    ("many keys backwards", keys_backwards),
    ("same key", |n| format!("{{{}\"b\":1}}", fill("\"a\":1,", n))),
    ("long keys alike", long_keys),
    ("escapes", |n| format!("\"{}\"", fill("\\n\\u00e9\\\\", n))),
    ("surrogates", |n| format!("\"{}\"", fill("\\ud83d\\ude00", n))),
    ("long string", |n| format!("\"{}\"", fill("a", n))),
    ("string unclosed", |n| format!("\"{}", fill("a", n))),
    ("four-byte letters", |n| format!("\"{}\"", fill("\u{1F600}", n))),
    ("many strings", |n| format!("[{}1]", fill("\"a\",", n))),
    ("blanks", |n| fill(" ", n)),
    ("line breaks then fault", |n| fill("\n", n) + "x"),
    ("empty arrays", |n| format!("[{}[]]", fill("[],", n))),
];

/// What is said `n` bytes long.
fn fill(unit: &str, n: usize) -> String {
    unit.repeat(n / unit.len())
}

/// As many opened as closed.
fn nest(open: &str, close: &str, n: usize) -> String {
    let times = n / (open.len() + close.len());
    open.repeat(times) + "a" + &close.repeat(times)
}

/// A unit and a number, over and over.
fn numbered(unit: &str, n: usize) -> String {
    let mut out = String::new();
    for i in 0.. {
        if out.len() >= n {
            break;
        }
        let _ = write!(out, "{unit}{i}");
    }
    out.trim_start_matches(';').to_owned()
}

fn assignments(n: usize) -> String {
    let mut out = String::new();
    for i in 0.. {
        if out.len() >= n {
            break;
        }
        let _ = write!(out, "v{i}=a;");
    }
    out
}

fn functions(n: usize) -> String {
    let mut out = String::new();
    for i in 0.. {
        if out.len() >= n {
            break;
        }
        let _ = write!(out, "f{i}(){{ a; }};f{i};");
    }
    out
}

/// Each function calls the one before twice.
fn doubling(n: usize) -> String {
    let mut out = "f0(){ rm a; };".to_owned();
    for i in 1.. {
        if out.len() >= n {
            break;
        }
        let _ = write!(out, "f{i}(){{ f{0};f{0}; }};f{i};", i - 1);
    }
    out
}

fn files(n: usize) -> String {
    let (mut write, mut run) = (String::new(), String::new());
    for i in 0.. {
        if write.len() + run.len() >= n {
            break;
        }
        let _ = write!(write, "echo a>f{i};");
        let _ = write!(run, "sh f{i};");
    }
    write + &run
}

/// Loops in loops, then in a row until the text is long enough.
fn for_nest(depth: usize, n: usize) -> String {
    let one = "for a in 1 2 3 4 5 6; do ".repeat(depth) + "rm $a" + &"; done".repeat(depth) + ";";
    fill(&one, n.max(one.len()))
}

/// `sh -c` in `sh -c`, as deep as doubling backslashes allow.
fn quoted_shells(n: usize) -> String {
    let mut text = "rm -rf a".to_owned();
    loop {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if escaped.len() + 9 > n {
            return text;
        }
        text = format!("sh -c \"{escaped}\"");
    }
}

fn backquotes(n: usize) -> String {
    let mut text = "a".to_owned();
    loop {
        let escaped = text.replace('\\', "\\\\").replace('`', "\\`");
        if escaped.len() + 7 > n {
            return text;
        }
        text = format!("echo `{escaped}`");
    }
}

/// A payload encoded until it is long enough, and decoded as often.
fn base64_chain(n: usize) -> String {
    let mut payload = b"rm -rf /\n".to_vec();
    let mut pipes = String::new();
    while payload.len() * 4 / 3 < n {
        payload = base64(&payload).into_bytes();
        pipes.push_str("|base64 -d");
    }
    format!("echo {}{pipes}|sh", String::from_utf8_lossy(&payload))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let at = usize::try_from(word >> (18 - 6 * i) & 63).unwrap_or(0);
            let letter = LETTERS.get(at).copied().map_or('=', char::from);
            out.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

fn keys(n: usize) -> String {
    let mut out = "{\"a\":1".to_owned();
    for i in 0.. {
        if out.len() >= n {
            break;
        }
        let _ = write!(out, ",\"k{i}\":1");
    }
    out + "}"
}

fn keys_backwards(n: usize) -> String {
    let mut out = "{\"a\":1".to_owned();
    for i in (0..=n / 12).rev() {
        let _ = write!(out, ",\"k{i:05}\":1");
    }
    out + "}"
}

/// Keys that differ only at their ends.
fn long_keys(n: usize) -> String {
    let length = n.isqrt();
    let stem = "k".repeat(length);
    let mut out = "{\"a\":1".to_owned();
    for i in 0..n / (length + 8) {
        let _ = write!(out, ",\"{stem}{i}\":1");
    }
    out + "}"
}
