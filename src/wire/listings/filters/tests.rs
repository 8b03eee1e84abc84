//! Faults and readings.
