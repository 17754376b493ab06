//! Wheels of the Python package: one for each processor serves all versions of CPython from 3.9 on.

use anyhow::{Context, Result};

use super::{Work, processors};
use crate::python::call;

/// Builds the wheels. The Bunny is left out, because its terms do not allow it.
pub(super) fn build(work: &Work) -> Result<()> {
    for processor in processors() {
        eprintln!("\n── wheel for {} ──", processor.target);
        let mut command = work.command(&work.tool("maturin")?)?;
        command.args(["build", "--release", "--locked", "--zig", "--compatibility", "manylinux2014"]);
        command.args(["--no-default-features", "--manifest-path", "python/Cargo.toml"]);
        command.args(["--target", processor.target, "--out"]).arg(&work.output);
        call(&mut command).with_context(|| format!("wheel for {}", processor.target))?;
    }
    Ok(())
}
