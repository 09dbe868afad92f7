//! Tests of the crisis reader.
