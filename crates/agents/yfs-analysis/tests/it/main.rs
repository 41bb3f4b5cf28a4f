//! Tests of the analysis of data files, in one program.

mod contents;
mod parquet;
mod sketches;
mod tables;
