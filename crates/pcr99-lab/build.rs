//! The feature `bunny` needs a file that the published package does not have.

fn main() {
    println!("cargo::rerun-if-changed=data");
    if std::env::var_os("CARGO_FEATURE_BUNNY").is_some() && !std::path::Path::new("data/bunny.obj").exists() {
        println!(
            "cargo::error=the feature `bunny` works only in the repository: the terms of the Stanford Bunny \
             (data/NOTICE) do not allow it in the published package"
        );
    }
}
