//! Forms that only Perl has.

use crate::code::reader::Reader;
use crate::code::token::K;
use crate::code::value::Value;

impl<'a> Reader<'a, '_> {
    /// `new A::B(..)`, which is `A::B->new(..)`.
    pub(super) fn indirect_new(&mut self) -> Value<'a> {
        self.pos += 1;
        let Some(class) = self.tok(0).filter(|tok| tok.k == K::Ident) else {
            return Value::default();
        };
        self.pos += 1;
        let mut value = self.lookup(self.slice(&class));
        value.at = (class.start, class.end);
        while self.is(0, K::Dot) && self.is(1, K::Ident) {
            let end = self.tok(1).map_or(class.end, |tok| tok.end);
            let name = self.word(1);
            self.pos += 2;
            value = self.attribute(value, name, end);
        }
        let end = value.at.1;
        self.attribute(value, "new", end)
    }
}
