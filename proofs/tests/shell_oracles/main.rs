//! Our shell reader beside four others (`bash -n`, tree-sitter-bash, shuck and brush), and our
//! assessment beside what bash does in a sandbox.

#[cfg(test)]
mod bash;
#[cfg(test)]
mod brush;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod effects;
#[cfg(test)]
mod exceptions;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod mutate;
#[cfg(test)]
mod shuck;
#[cfg(test)]
mod sitter;

/// Names of simple commands; none where a name is only known when it runs.
#[cfg(test)]
type Names = Vec<Option<String>>;
