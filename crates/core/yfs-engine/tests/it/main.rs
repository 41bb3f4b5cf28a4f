//! Tests of documents, in one program.

mod honest;
mod hostile;
mod order;
mod rich;
mod waiting;
