//! Findings and context to points, tier, confidence and class: plain arithmetic.

use crate::assess::Assessment;
use crate::call::Call;
use crate::finding::Findings;
use crate::verdict::Policy;
