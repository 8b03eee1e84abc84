//! The network, from the inside out: one client for everything that leaves this machine.
