//! `countersign hook`: what an agent runs before each call. Reads its JSON, answers in its words.
