#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| git_agentwt_fuzz::bodies::walked(bytes));
