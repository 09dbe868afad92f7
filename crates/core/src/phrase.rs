//! Two words from a digest, so that a swapped prompt is visible.
