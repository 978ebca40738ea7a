//! Carries what the fuzz targets do with their bytes; `tests/it/fuzz.rs` does the same with
//! generated ones in every ordinary run.

#[path = "../../tests/it/fuzz/bodies.rs"]
pub mod bodies;
