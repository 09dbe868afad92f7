//! The vectors of RFC 8785, an oracle, and what may and may not change a digest.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::parse;

fn canon(text: &str) -> (String, bool) {
    let Canonical { text, exact } = canonical(&parse(text).unwrap());
    (text, exact)
}

#[test]
fn the_example_of_rfc_8785() {
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let wanted = "{\"literals\":[null,true,false],\
        \"numbers\":[33333333333333329e-8,1e+30,4.5,0.002,1e-27],\
        \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    // The RFC rounds its first number to 333333333.3333333; we keep all digits and set `exact`.
    assert_eq!(canon(text), (wanted.to_owned(), true));
    let rounded = text.replace("333333333.33333329", "333333333.3333333");
    let wanted = wanted.replace("33333333333333329e-8", "333333333.3333333");
    assert_eq!(canon(&rounded), (wanted, false));
}

#[test]
fn keys_in_the_order_of_utf16() {
    let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Dalet With Dagesh",
        "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control",
        "\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let canonical = canonical(&parse(text).unwrap()).text;
    let value = parse(&canonical).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().iter().map(|(k, _)| k.as_ref()).collect();
    assert_eq!(keys, ["\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"]);
}

/// Appendix B of RFC 8785, and edges of ECMAScript's number format.
#[test]
fn numbers_as_ecmascript_writes_them() {
    for (bits, wanted) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let value = Value::Number(Cow::Owned(wanted.to_owned()));
        let found = canonical(&value);
        assert_eq!((found.text.as_str(), found.exact), (wanted, false));
        assert_eq!(exact_f64(wanted), Some(f64::from_bits(bits)), "{wanted}");
        let mut buffer = ryu_js::Buffer::new();
        assert_eq!(buffer.format(f64::from_bits(bits)), wanted);
    }
}

#[test]
fn exact_numbers_are_written_as_ecmascript_does() {
    for (text, wanted) in [
        ("-0", "0"),
        ("-0.0e5", "0"),
        ("0e99999999999999999999999", "0"),
        ("0.1", "0.1"),
        ("1.0", "1"),
        ("100e-2", "1"),
        ("1e2", "100"),
        ("0.10", "0.1"),
        ("1E21", "1e+21"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740992.0", "9007199254740992"),
        ("1000000000000000000000000", "1e+24"),
        ("0.0000001", "1e-7"),
        ("-1.50", "-1.5"),
    ] {
        assert_eq!(canon(text), (wanted.to_owned(), false), "{text}");
    }
}

#[test]
fn inexact_numbers_keep_all_digits() {
    for (text, wanted) in [
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.000", "9007199254740993"),
        ("90071992547409930e-1", "9007199254740993"),
        ("-9007199254740993", "-9007199254740993"),
        ("1e400", "1e400"),
        ("10e399", "1e400"),
        ("0.001E+403", "1e400"),
        ("1e-400", "1e-400"),
        ("123456789012345678901234567890", "12345678901234567890123456789e1"),
        ("0.30000000000000001", "30000000000000001e-17"),
        // As near to its f64 as the 1424953923781206.2 that ECMAScript chooses.
        ("1424953923781206.3", "14249539237812063e-1"),
        ("1e99999999999999999999", "1e99999999999999999999"),
        ("1e00000000000000000000000400", "1e400"),
        // The largest exponent that is computed with: one more digit would not fit.
        ("10e9223372036854775807", "10e9223372036854775807"),
        ("0.1e-9223372036854775808", "0.1e-9223372036854775808"),
    ] {
        assert_eq!(canon(text), (wanted.to_owned(), true), "{text}");
        assert_eq!(canon(wanted), (wanted.to_owned(), true), "{wanted} is its own form");
    }
    assert!(canon(r#"{"a":[{"b":9007199254740993}]}"#).1);
}

#[test]
fn digests_have_one_text() {
    let digest = Digest::of(b"x");
    let text = digest.to_string();
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{text}\""));
    assert_eq!(Digest::parse(text.split_at(1).1), Err(DigestError::Length(63)));
    assert_eq!(Digest::parse(&text.to_uppercase()), Err(DigestError::Digit(1)));
    assert_eq!(Digest::parse(&text.replace('d', "é")).unwrap_err().to_string().lines().count(), 1);
    for index in 0..32 {
        let mut bytes = *digest.as_bytes();
        bytes[index] ^= 1;
        assert_ne!(Digest::from_bytes(bytes), digest, "byte {index}");
    }
}

fn doubles_only() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value as Json;
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map(
                "[a-cA-C0é€\u{e000}-\u{f8ff}\u{fb33}😀𐀀]{0,3}",
                inner,
                0..8
            )
            .prop_map(|m| Json::Object(m.into_iter().collect())),
        ]
    })
}

/// As JSON text, with numbers as ECMAScript writes them: other formatters break ties differently.
fn text_of(value: &serde_json::Value) -> String {
    use serde_json::Value as Json;
    match value {
        Json::Number(number) if number.is_f64() => {
            ryu_js::Buffer::new().format(number.as_f64().unwrap()).to_owned()
        }
        Json::Array(items) => {
            format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(", "))
        }
        Json::Object(members) => {
            let quote = |key: &String| serde_json::to_string(key).unwrap();
            let member = |(k, v)| format!("{}: {}", quote(k), text_of(v));
            format!("{{{}}}", members.iter().rev().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_oracle_on_doubles(value in doubles_only()) {
        let text = text_of(&value);
        let ours = canonical(&parse(&text).unwrap());
        prop_assert!(!ours.exact);
        prop_assert_eq!(&ours.text, &serde_json_canonicalizer::to_string(&value).unwrap());
        prop_assert_eq!(canonical(&parse(&ours.text).unwrap()), ours.clone());
    }

    #[test]
    fn equal_forms_mean_equal_numbers(
        digits in "[1-9][0-9]{0,24}", zeros in 0_u16..5, power in -330_i64..330,
    ) {
        let pad = "0".repeat(usize::from(zeros));
        let plain = format!("{digits}e{power}");
        let moved = format!("{digits}{}e{}", pad, power - i64::from(zeros));
        let up = i64::try_from(pad.len() + digits.len()).unwrap();
        let point = format!("0.{pad}{digits}e{}", power + up);
        prop_assert_eq!(canon(&plain), canon(&moved));
        prop_assert_eq!(canon(&plain), canon(&point));
        let next = format!("{digits}1e{}", power - 1);
        prop_assert_ne!(canon(&plain), canon(&next));
    }
}
