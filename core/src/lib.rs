//! 64-bit, time-sorted, globally unique IDs made in your own process.
