//! Snapshots of the program's output: `tests/cmd/*.trycmd`. After an intended change, run with `TRYCMD=overwrite` and check the
//! differences. Times and last digits must stay `[..]`.

#[test]
fn snapshots() {
    let cases = trycmd::TestCases::new();
    cases
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .insert_var("[VERSION]", env!("CARGO_PKG_VERSION"))
        .expect("a name");
    cases.case("tests/cmd/*.trycmd");
}
