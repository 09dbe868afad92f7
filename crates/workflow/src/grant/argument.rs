//! Conditions on the arguments of a tool: one of some values, a number up to a limit, any text.

use countersign_json::Value;
use countersign_json::canonical::canonical;
use serde::{Deserialize, Serialize};

use super::decimal::PlainDecimal;
use super::members;

/// The most conditions of one grant.
const MAX_CONDITIONS: usize = 50;
/// The longest value, in bytes.
const MAX_VALUE: usize = 2_000;
/// The longest name of an argument, in bytes.
const MAX_NAME: usize = 100;

/// What an argument must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRule {
    /// One of these values, each as canonical JSON.
    OneOf(Vec<String>),
    /// A number from zero to this one.
    AtMost(PlainDecimal),
    /// Any text. A heading, a name or an address is one line.
    AnyText,
}

/// One argument of a tool, and what it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentConstraint {
    /// The name of the argument.
    pub member: String,
    /// Whether a call may lack it.
    pub optional: bool,
    /// What it must be.
    pub rule: ArgumentRule,
}

impl ArgumentConstraint {
    /// An argument that has exactly this value; none if the value has no exact text.
    pub(super) fn exactly(member: &str, value: &Value<'_>) -> Option<ArgumentConstraint> {
        let rule = ArgumentRule::OneOf(vec![exact_text(value)?]);
        Some(ArgumentConstraint { member: member.to_owned(), optional: false, rule })
    }

    /// Reads conditions in plain form: `repository=acme/shop`, `amount<=100`, `title~*`. The same
    /// argument twice with `=` may be either value, and `name?` may be absent.
    pub fn parse_all<'t>(
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Vec<ArgumentConstraint>, String> {
        let mut all: Vec<ArgumentConstraint> = Vec::new();
        for text in texts {
            let one = parse(text)?;
            match all.iter_mut().find(|known| known.member == one.member) {
                None => all.push(one),
                Some(known) => merge(known, one)?,
            }
        }
        if all.is_empty() || all.len() > MAX_CONDITIONS {
            return Err(format!("a grant has 1 to {MAX_CONDITIONS} conditions"));
        }
        all.sort_by(|a, b| a.member.cmp(&b.member));
        Ok(all)
    }

    /// Whether a value fulfils the condition.
    pub fn accepts(&self, value: &Value<'_>) -> bool {
        match &self.rule {
            ArgumentRule::OneOf(values) => {
                exact_text(value).is_some_and(|text| values.contains(&text))
            }
            ArgumentRule::AtMost(limit) => number_of(value).is_some_and(|number| number <= *limit),
            ArgumentRule::AnyText => {
                let may_break = !members::is_one_line(&self.member);
                value.as_str().is_some_and(|text| may_break || !members::has_control(text))
            }
        }
    }

    /// A value that fulfils the condition.
    pub(super) fn example(&self) -> Value<'static> {
        match &self.rule {
            ArgumentRule::OneOf(values) => {
                let text = values.first().map(String::as_str).unwrap_or_default();
                countersign_json::parse(text).map_or(Value::Null, Value::into_owned)
            }
            ArgumentRule::AtMost(limit) => Value::Number(limit.to_string().into()),
            ArgumentRule::AnyText => Value::String("text".into()),
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        let member = &self.member;
        let absent = if self.optional { " or none" } else { "" };
        match &self.rule {
            ArgumentRule::OneOf(values) => {
                let values: Vec<&str> = values.iter().map(|text| plain_value(text)).collect();
                format!("{member} = {}{absent}", values.join(" or "))
            }
            ArgumentRule::AtMost(limit) => format!("{member} at most {limit}{absent}"),
            ArgumentRule::AnyText => format!("any {member}{absent}"),
        }
    }
}

/// The number that a value is; texts with digits are numbers as well.
pub(super) fn number_of(value: &Value<'_>) -> Option<PlainDecimal> {
    let (Value::Number(digits) | Value::String(digits)) = value else { return None };
    PlainDecimal::parse(digits)
}

/// The canonical text of a value, unless it has a number that programs may read differently.
fn exact_text(value: &Value<'_>) -> Option<String> {
    let text = canonical(value);
    (!text.exact).then_some(text.text)
}

/// A text without its quotes, if it could not be taken for another kind of value.
fn plain_value(json: &str) -> &str {
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_clear =
        |text: &&str| !text.contains(['\\', '"', ' ']) && countersign_json::parse(text).is_err();
    inner.filter(is_clear).unwrap_or(json)
}

fn merge(known: &mut ArgumentConstraint, one: ArgumentConstraint) -> Result<(), String> {
    match (&mut known.rule, one.rule) {
        (ArgumentRule::OneOf(values), ArgumentRule::OneOf(more))
            if known.optional == one.optional && values.len() < MAX_CONDITIONS =>
        {
            values.extend(more);
            values.dedup();
            Ok(())
        }
        _ => Err(format!("`{}` has two conditions that do not fit together", one.member)),
    }
}

fn parse(text: &str) -> Result<ArgumentConstraint, String> {
    let help = "use NAME=VALUE, NAME<=NUMBER or NAME~* (any text)";
    let unreadable = || format!("`{text}` is not a condition; {help}");
    let at = text.find(['=', '<', '~']).ok_or_else(unreadable)?;
    let (name, rest) = text.split_at_checked(at).ok_or_else(unreadable)?;
    let (name, optional) = match name.trim().strip_suffix('?') {
        Some(name) => (name, true),
        None => (name.trim(), false),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(unreadable());
    }
    let rule = if let Some(limit) = rest.strip_prefix("<=") {
        let limit = PlainDecimal::parse(limit.trim());
        ArgumentRule::AtMost(limit.ok_or_else(|| format!("`{text}` has no plain number"))?)
    } else if let Some(value) = rest.strip_prefix('=') {
        ArgumentRule::OneOf(vec![parse_value(value.trim())?])
    } else if rest.strip_prefix('~').is_some_and(|glob| glob.trim() == "*") {
        ArgumentRule::AnyText
    } else {
        return Err(unreadable());
    };
    Ok(ArgumentConstraint { member: name.to_owned(), optional, rule })
}

/// A value as JSON says it (`3`, `true`, `"3"`, `["bug"]`), or any other text as it is.
fn parse_value(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_VALUE {
        return Err(format!("a value has 1 to {MAX_VALUE} bytes; an empty text is \"\""));
    }
    let value = match countersign_json::parse(text) {
        Ok(value) => value,
        Err(error) if text.starts_with(['"', '{', '[']) => {
            return Err(format!("`{text}` is not valid JSON: {error}"));
        }
        Err(_) => Value::String(text.into()),
    };
    exact_text(&value).ok_or_else(|| format!("`{text}` has a number that is too exact"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(conditions: &[&str], value: &str) -> bool {
        let all = ArgumentConstraint::parse_all(conditions.iter().copied()).unwrap();
        assert_eq!(all.len(), 1, "{conditions:?}");
        all[0].accepts(&countersign_json::parse(value).unwrap())
    }

    #[test]
    fn conditions_accept_what_they_say_and_nothing_else() {
        let both = ["repository=acme/shop", "repository = acme/blog"];
        assert!(accepts(&both, r#""acme/shop""#) && accepts(&both, r#""acme/blog""#));
        for other in [r#""acme/other""#, r#"["acme/shop"]"#, r#""Acme/shop""#, "null"] {
            assert!(!accepts(&both, other), "{other}");
        }
        assert!(accepts(&["count=3"], "3") && accepts(&["count=3"], "3.0"));
        assert!(!accepts(&["count=3"], r#""3""#) && accepts(&[r#"count="3""#], r#""3""#));
        assert!(accepts(&["draft=true"], "true") && !accepts(&["draft=true"], r#""true""#));
        let nested = [r#"labels={"b":[1],"a":"x"}"#];
        assert!(accepts(&nested, r#"{"a":"x","b":[1]}"#));
        for other in [r#"{"a":"x","b":[1,2]}"#, r#"{"a":"x","b":[1],"c":1}"#, r#"{"a":"x"}"#] {
            assert!(!accepts(&nested, other), "{other}");
        }
        for fine in ["0", "100", "99.99", r#""100.00""#] {
            assert!(accepts(&["amount<=100"], fine), "{fine}");
        }
        for other in ["100.01", "-1", "1e2", r#""1e2""#, r#""$5""#, "null", "[5]", "true", r#""""#]
        {
            assert!(!accepts(&["amount<=100"], other), "{other}");
        }
        assert!(accepts(&["title~*"], r#""any; text""#));
        for other in ["3", "null", r#"["a"]"#, r#"{"file":"/etc/passwd"}"#] {
            assert!(!accepts(&["title~*"], other), "{other}");
        }
    }

    #[test]
    fn conditions_that_could_mean_something_else_are_rejected() {
        for text in [
            "",
            "title",
            "=x",
            "a b=x",
            "title~x*",
            "title~",
            "title<5",
            "amount<=",
            "amount<=1e3",
            "amount<=-1",
            "a=",
            "a=[1",
            "a=\"x",
            "ä=x",
            "a=9007199254740993",
        ] {
            assert!(ArgumentConstraint::parse_all([text]).is_err(), "{text}");
        }
        for pair in [["a=1", "a~*"], ["a<=1", "a<=2"], ["a=1", "a?=2"]] {
            assert!(ArgumentConstraint::parse_all(pair).is_err(), "{pair:?}");
        }
        assert!(ArgumentConstraint::parse_all([]).is_err());
    }

    #[test]
    fn words_say_what_is_accepted() {
        let words = |texts: &[&str]| {
            let all = ArgumentConstraint::parse_all(texts.iter().copied()).unwrap();
            all.iter().map(ArgumentConstraint::words).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            words(&["b=acme/shop", "a<=5", "c?~*"]),
            "a at most 5, b = acme/shop, any c or none"
        );
        assert_eq!(words(&["n=3", "n=x"]), "n = 3 or x");
        assert_eq!(words(&[r#"n="3""#]), r#"n = "3""#);
        assert_eq!(words(&["n=a or b"]), r#"n = "a or b""#);
    }
}
