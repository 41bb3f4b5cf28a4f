//! Tests of the command, in one program.

mod compared;
mod completion;
mod damage;
mod encrypted;
mod host;
mod kept_stats;
mod memory;
mod processes;
mod tail_follow;
mod transcripts;
mod watch_changes;
