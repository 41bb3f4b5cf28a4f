//! Tests of the shell, in one program.

mod files;
mod real_bash;
