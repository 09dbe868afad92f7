//! Oracles and hostile input for the judgement. There is no code here: the proofs are `tests/`,
//! and the texts they read are `corpus/`.
