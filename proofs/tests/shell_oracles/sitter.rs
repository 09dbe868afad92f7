//! Commands as tree-sitter-bash sees them.

use tree_sitter::{Node, Parser};

use crate::Names;

/// The names in a text, or none where the tree holds an error.
pub fn names(text: &str) -> Option<Names> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut names = Vec::new();
    walk(tree.root_node(), text, &mut names);
    Some(names)
}

fn walk(node: Node<'_>, text: &str, names: &mut Names) {
    match node.kind() {
        "command" => names.extend(node.child_by_field_name("name").map(|n| literal(n, text))),
        // `export`, `declare`, `unset` and their kin: the name is the first child.
        "declaration_command" | "unset_command" => {
            names.extend(node.child(0).map(|n| Some(n.kind().to_owned())));
        }
        "test_command" if node.child(0).is_some_and(|n| n.kind() == "[") => {
            names.push(Some("[".to_owned()));
        }
        _ => {}
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    for child in children {
        walk(child, text, names);
    }
}

/// The name without its quotes, where no expansion is part of it.
fn literal(node: Node<'_>, text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = node.utf8_text(text.as_bytes()).ok()?.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next()? {
                '\n' => {}
                other => out.push(other),
            },
            '\'' => out.extend(rest.by_ref().take_while(|&c| c != '\'')),
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '$' | '`' => return None,
                    '\\' => out.push(rest.next()?),
                    other => out.push(other),
                }
            },
            '$' | '`' => return None,
            '<' | '>' if rest.as_str().starts_with('(') => return None,
            other => out.push(other),
        }
    }
    Some(out)
}
