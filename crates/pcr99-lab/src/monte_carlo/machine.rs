use std::fs;

use serde::{Deserialize, Serialize};

/// Computer that ran the benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the CPU, where the system reports it.
    pub cpu: Option<String>,
    /// Number of hardware threads.
    pub cores: Option<usize>,
    /// Operating system.
    pub system: String,
    /// Instruction set.
    pub architecture: String,
}

impl Machine {
    /// This computer.
    pub fn this() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu: cpu_name(&info),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

fn cpu_name(info: &str) -> Option<String> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Machine and program of one part of the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Name and version of the program.
    pub program: String,
    /// Commit of the program, where known.
    pub commit: Option<String>,
    /// Compiler of the program, where known.
    pub compiler: Option<String>,
    /// Whether the program was built with full optimization.
    pub optimised: bool,
    /// Computer.
    pub machine: Machine,
    /// Number of parallel runs.
    pub jobs: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_taken_from_the_list_of_cpus() {
        let info = "processor\t: 0\nmodel name\t: Some  CPU @ 2.80GHz\nflags\t: fpu\n\nmodel name\t: other\n";
        assert_eq!(cpu_name(info).as_deref(), Some("Some CPU @ 2.80GHz"));
        assert_eq!(cpu_name("Hardware : none"), None);
    }
}
