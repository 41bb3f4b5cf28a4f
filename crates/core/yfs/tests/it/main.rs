//! Tests of workspaces, in one program.

mod change_list;
mod conformance;
mod damage;
mod history;
mod host_names;
mod large_files;
mod misplaced;
mod parked;
mod past;
mod races;
mod replace;
mod rich;
mod saves_beside_renames;
mod steps;
mod streams;
mod support;
mod trash_order;
mod trust;
mod watch;
mod workspace;
