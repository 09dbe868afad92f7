//! Tiers by context, and arbitrary text.

use std::time::Duration;

use proptest::prelude::*;

use super::{looks_like_sql, read, read_mongo, read_redis};
use crate::context::{Context, Environment};
use crate::finding::Findings;
use countersign_types::tier::Tier;

/// Only a hang takes so long; how the work grows is measured in `benches/`.
const HANG: Duration = Duration::from_mins(1);

type Reader = fn(&str, usize, &Context<'_>, &mut Findings);

fn run(reader: Reader, text: &str, environment: Environment) -> Findings {
    let mut out = Findings::default();
    reader(text, 0, &Context { environment, ..Context::default() }, &mut out);
    out
}

fn tier(text: &str) -> Tier {
    run(read, text, Environment::Workstation).tier()
}

#[test]
fn no_bound_hides_a_statement() {
    let read_tier = |text: &str| {
        let mut out = Findings::default();
        read(text, 0, &Context::default(), &mut out);
        out.tier()
    };
    for text in [
        "EXPLAIN (VERBOSE, COSTS, BUFFERS, SETTINGS, WAL, ANALYZE) DELETE FROM users".to_owned(),
        format!("SELECT 1 {}# 2; DROP TABLE users", " ".repeat(100)),
        format!("ALTER TABLE x {} DROP COLUMN a", "ADD drop INT,".repeat(9)),
        format!("SELECT {} 1; DROP TABLE users", "a, ".repeat(500)),
    ] {
        assert!(read_tier(&text) >= Tier::Medium, "{text}");
    }
}

#[test]
fn destructive_statements_have_their_tiers() {
    assert_eq!(tier("DROP TABLE users"), Tier::Medium);
    assert_eq!(tier("DROP DATABASE app"), Tier::High);
    assert_eq!(tier("TRUNCATE users"), Tier::High);
    assert_eq!(tier("DROP TABLE a, b"), Tier::High);
    assert_eq!(tier("DELETE FROM users"), Tier::Medium);
    assert_eq!(tier("DELETE FROM users WHERE id = 1"), Tier::Low);
    assert_eq!(tier("SELECT * FROM users; -- DROP TABLE users"), Tier::Safe);
    assert_eq!(tier("SELECT 1; DROP TABLE users"), Tier::Medium);
    assert_eq!(tier("/*!50000 DROP TABLE users */"), Tier::Medium);
    assert_eq!(tier("SELECT $$DROP TABLE users$$"), Tier::Safe);
    assert_eq!(tier("SELECT $a$;DROP TABLE users;$a$"), Tier::Safe);
    assert_eq!(tier("DELETE FROM a WHERE id IN (SELECT id FROM b WHERE 1=1)"), Tier::Low);
    assert_eq!(tier("DELETE FROM a USING (SELECT 1 WHERE 2=3) b"), Tier::Medium);
    assert_eq!(tier("DELETE FROM a WHERE id = 1 OR 1=1"), Tier::Medium);
    assert_eq!(tier("EXPLAIN ANALYZE DELETE FROM a"), Tier::Medium);
    // What one dialect takes for a comment or a string another one runs.
    assert_eq!(tier(r"SELECT '\'; DROP TABLE a; --'"), Tier::Medium);
    assert_eq!(tier("SELECT 1 # 2; DROP TABLE a"), Tier::Medium);
    assert_eq!(tier("SELECT 1--1; DROP TABLE a"), Tier::Medium);
    assert_eq!(tier("# DROP TABLE a\nSELECT 1"), Tier::Safe);
    assert_eq!(tier("FROBNICATE x"), Tier::Low);
    assert_eq!(tier(""), Tier::Safe);
}

#[test]
fn rows_are_named() {
    let seen = run(read, "DROP TABLE IF EXISTS public.users, \"Order\" CASCADE", Environment::Ci);
    assert_eq!(seen.impact.rows.listed, ["public.users", "Order"]);
    let seen = run(read_mongo, "db.users.drop()", Environment::Ci);
    assert_eq!(seen.impact.rows.listed, ["users"]);
}

#[test]
fn bare_text_that_is_sql() {
    for text in [
        "DROP TABLE users",
        "delete from users",
        "SELECT id, name FROM users WHERE a = 1;",
        "update users set admin = 1",
        "INSERT INTO a VALUES (1)",
        "WITH x AS (SELECT 1) DELETE FROM y",
        "-- note\nTRUNCATE TABLE a",
        "GRANT ALL ON a TO b",
    ] {
        assert!(looks_like_sql(text), "{text}");
    }
    for text in [
        "drop it",
        "select",
        "update-alternatives --set editor vim",
        "update",
        "git update-index",
        "ls -l",
        "create react-app",
        "show me",
        "truncate -s 0 file",
        "copy a b",
        "DROP",
        "DROP TABLE",
        "",
    ] {
        assert!(!looks_like_sql(text), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_the_same_way_twice(
        text in prop_oneof![
            ".{0,200}",
            prop::collection::vec(prop::sample::select(vec![
                "DROP", "TABLE", " ", "*", "(", ")", "'", "\"", "$$", "--", "/*", "*/", ";",
                "WHERE", "1=1", "DELETE FROM", "UPDATE a SET", ",", "\n", "é", ".shell", "\\!",
                "db.a.drop(",                 "WITH", "OR", "\\",
            ]), 0..40).prop_map(|v| v.concat()),
        ],
        base in 0_usize..9,
    ) {
        for reader in [read as Reader, read_redis, read_mongo] {
            let go = || {
                let mut out = Findings::default();
                reader(&text, base, &Context::default(), &mut out);
                out
            };
            let (one, two) = (go(), go());
            prop_assert_eq!(one.iter().collect::<Vec<_>>(), two.iter().collect::<Vec<_>>());
            for finding in &one {
                let span = finding.span.expect("every finding has a place");
                prop_assert!(base <= span.start as usize && span.start <= span.end);
                prop_assert!(span.end as usize <= base + text.len());
            }
        }
        looks_like_sql(&text);
    }
}

#[test]
fn adversaries_cost_no_more_than_their_length() {
    for piece in
        ["(", "'", "$a", "/*", "--", "DROP TABLE a,", "WITH ", "COPY a TO ", "a.", ";", "\\!"]
    {
        let text = piece.repeat(65_536 / piece.len());
        for reader in [read as Reader, read_redis, read_mongo] {
            let start = std::time::Instant::now();
            drop(run(reader, &text, Environment::Production));
            looks_like_sql(&text);
            assert!(start.elapsed() < HANG, "{piece:?} took {:?}", start.elapsed());
        }
    }
}
