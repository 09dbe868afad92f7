//! Calls of functions in SQL: those that only compute are known, any other may change data.

use super::FUNCTIONS;

/// The longest name of a function that is looked at.
const MAX_NAME: usize = 128;

/// The first function that a text calls and that is not known to only compute.
pub fn unknown_function(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut name: Option<(usize, usize)> = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' => {
                at = end_of_quote(bytes, at, byte);
                name = None;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at =
                    bytes.iter().skip(at).position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
                name = None;
            }
            b'"' | b'`' => {
                let end = end_of_quote(bytes, at, byte);
                name = Some((at + 1, end.saturating_sub(1)));
                at = end;
            }
            b'(' => {
                if let Some(found) = name.take().and_then(|(from, to)| text.get(from..to))
                    && !is_known(found)
                {
                    return Some(found);
                }
                at += 1;
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b if is_part(b) => {
                let from = at;
                while bytes.get(at).is_some_and(|b| is_part(*b)) {
                    at += 1;
                }
                let starts = !bytes.get(from).is_some_and(u8::is_ascii_digit);
                name = starts.then_some((from, at));
            }
            _ => {
                name = None;
                at += 1;
            }
        }
    }
    None
}

fn end_of_quote(bytes: &[u8], from: usize, quote: u8) -> usize {
    let rest = bytes.iter().skip(from + 1);
    rest.into_iter().position(|b| *b == quote).map_or(bytes.len(), |n| from + n + 2)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte == b'$' || byte >= 0x80
}

fn is_known(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let schema = name.len() > last.len() && !name.starts_with("pg_catalog.");
    if last.len() > MAX_NAME {
        return false;
    }
    let folded = last.to_ascii_lowercase();
    !schema && FUNCTIONS.binary_search(&folded.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_may_change_data() {
        assert_eq!(unknown_function("select wipe_all()"), Some("wipe_all"));
        assert_eq!(unknown_function("select public.reset (1)"), Some("public.reset"));
        assert_eq!(unknown_function("select \"wipe\"()"), Some("wipe"));
        assert_eq!(unknown_function("select count(*), purge(id) from t"), Some("purge"));
    }

    #[test]
    fn functions_that_only_compute() {
        for text in [
            "select count(*), max(a), coalesce(b, 0) from t where c in (1, 2)",
            "select date_trunc('day', now()) from t group by 1",
            "select 'wipe_all()' from t -- wipe_all()",
            "with x as (select 1) select * from x where exists (select 2)",
            "select row_number() over (partition by a order by b)",
        ] {
            assert_eq!(unknown_function(text), None, "{text}");
        }
    }
}
