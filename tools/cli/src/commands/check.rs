//! `daybook check DIR`: the configuration, without a daemon.
