//! Tools that are not shell: a catalogue, and a careful reading of names and arguments.
