//! Names that get values.

use crate::code::reader::Reader;
use crate::code::table::id;
use crate::code::value::{Shape, Value};

impl<'a> Reader<'a, '_> {
    pub(super) fn returned(&mut self, value: Value<'a>) {
        // `__reduce__` and its like hand out a callable and its arguments.
        if let [callee, args, ..] = value.items()
            && callee.node != 0
            && args.shape == Shape::List
        {
            let (callee, args) = (callee.clone(), args.items().to_vec());
            let at = callee.at;
            drop(self.call(&callee, &args, at));
        }
        let name = self.function;
        if let Some(function) = self.funcs.get_mut(&id(name)) {
            let old = std::mem::take(&mut function.returns);
            function.returns = old.or(value);
        }
    }

    /// Binds a name; inside a block what it was before stays possible.
    pub(super) fn bind(&mut self, name: &'a str, value: Value<'a>) {
        if self.indent > 0 || self.block > 0 || self.nest > 0 {
            self.bind_more(name, value);
        } else if !name.is_empty() {
            self.env.insert(id(name), value);
        }
    }

    /// Adds a possible value to a name.
    pub(super) fn bind_more(&mut self, name: &'a str, value: Value<'a>) {
        if name.is_empty() {
            return;
        }
        let old = self.env.remove(&id(name)).unwrap_or_default();
        self.env.insert(id(name), old.or(value));
    }
}
