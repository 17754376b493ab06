//! Options of the command.

use pcr99_lab::trust::FIRST_JUDGING_SEED;

const HELP: &str = "\
Prints what is promised of an answer's trustworthiness, measured and required.

  --only 1,5         measures only these items
  --row TEXT         measures only rows whose name contains TEXT
  --problems N       problems per row (default: 1000 of pure noise, 500 of the paper,
                     200 at the limit, 50 otherwise)
  --search-seeds N   search seeds per problem in items 1 and 2 (default: 12)
  --quick            the same as --problems 20 --search-seeds 4
  --seeds FROM..TO   seeds of the problems, TO excluded (default: 10000..)
                     seeds below 10000 are for setting numbers
  --threads N        threads; each problem is solved on one (default: all cores)
  --show             prints every failing problem with its numbers

PCR99_DATA names the directory of real matches; without it, their rows are left out.";

/// Options of the command.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Items to measure; all when empty.
    pub(crate) only: Vec<usize>,
    /// Text that the name of a row must contain.
    pub(crate) row: String,
    /// Problems per row, when given.
    pub(crate) problems: Option<u64>,
    /// Search seeds per problem, where answers are compared over them.
    pub(crate) search_seeds: u64,
    /// First seed and end of the seeds.
    pub(crate) seeds: [u64; 2],
    /// Number of threads.
    pub(crate) threads: usize,
    /// Whether failing problems are described.
    pub(crate) show: bool,
}

impl Options {
    /// Reads the arguments after the name of the command. The error is a message for the user.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            only: Vec::new(),
            row: String::new(),
            problems: None,
            search_seeds: 12,
            seeds: [FIRST_JUDGING_SEED, u64::MAX],
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            show: false,
        };
        while let Some(argument) = arguments.next() {
            if argument == "--show" {
                options.show = true;
                continue;
            }
            if argument == "--quick" {
                (options.problems, options.search_seeds) = (Some(20), 4);
                continue;
            }
            if argument == "--help" || argument == "-h" {
                return Err(HELP.to_owned());
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("`{argument}` is not an option, or needs a value; see --help"))?;
            options
                .set(&argument, &value)
                .ok_or_else(|| format!("`{argument} {value}` is not understood; see --help"))?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "--only" => self.only = value.split(',').map(|item| item.parse().ok()).collect::<Option<_>>()?,
            "--row" => value.clone_into(&mut self.row),
            "--problems" => self.problems = Some(value.parse().ok()?),
            "--search-seeds" => self.search_seeds = value.parse().ok().filter(|&seeds| seeds > 0)?,
            "--threads" => self.threads = value.parse().ok().filter(|&threads| threads > 0)?,
            "--seeds" => {
                let (from, to) = value.split_once("..")?;
                let to = if to.is_empty() { u64::MAX } else { to.parse().ok()? };
                self.seeds = [from.parse().ok()?, to];
            }
            _ => return None,
        }
        Some(())
    }
}
