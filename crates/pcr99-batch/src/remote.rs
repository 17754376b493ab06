//! Work on a chunk in another process than the one that holds the directory, possibly on another machine.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use crate::{
    directory::is_batch,
    error::Error,
    order::Chunk,
    parts::write_part,
    record::Record,
    run::{MOST_WAITING, PART_EVERY},
    worker::{Interrupted, Worker},
};

/// Report of a worker on a chunk. Its size does not depend on the size of the results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// Part files with the results.
    pub parts: Vec<PathBuf>,
    /// Number of pairs in them; after an interruption, fewer than in the chunk.
    pub made: usize,
    /// Number of failed pairs among them.
    pub failed: usize,
}

impl Worker {
    /// Runs the pairs of a chunk and writes their results to the batch in `directory`, at the end and every ten seconds. After an
    /// interruption, finished pairs are kept.
    ///
    /// # Errors
    /// When this machine sees no batch in `directory`, or when results cannot be written.
    pub fn run_chunk_to(
        &mut self,
        chunk: &Chunk,
        directory: &Path,
        interrupted: Interrupted<'_>,
    ) -> Result<Receipt, Error> {
        if !is_batch(directory)? {
            return Err(Error::NotShared { directory: directory.into() });
        }
        self.inside(|worker| worker.run_chunk_here(chunk, directory, interrupted))
    }

    fn run_chunk_here(
        &mut self,
        chunk: &Chunk,
        directory: &Path,
        interrupted: Interrupted<'_>,
    ) -> Result<Receipt, Error> {
        let base = Path::new(&chunk.base);
        let mut receipt = Receipt::default();
        let mut keep = |waiting: &mut Vec<Record>| {
            if !waiting.is_empty() {
                receipt.parts.push(write_part(directory, base, waiting)?);
                receipt.made += waiting.len();
                receipt.failed += waiting.iter().filter(|record| record.is_failed()).count();
                waiting.clear();
            }
            Ok(())
        };
        let (mut waiting, mut values, mut written) = (Vec::new(), 0, Instant::now());
        for row in &chunk.rows {
            let Some(record) = self.run(row, base, interrupted) else { break };
            values += record.values();
            waiting.push(record);
            if values >= MOST_WAITING || written.elapsed() >= PART_EVERY {
                keep(&mut waiting)?;
                (values, written) = (0, Instant::now());
            }
        }
        keep(&mut waiting)?;
        Ok(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clouds, Directory, Manifest, Settings};
    use std::sync::Arc;

    #[test]
    fn results_are_found_by_the_one_who_sent_the_chunk() {
        let place = tempfile::tempdir().expect("a directory");
        let (output, base) = (place.path().join("out"), place.path().to_path_buf());
        let rows = (0..5).map(|i| vec![i.to_string(), "nowhere.txt".to_owned()]);
        let manifest = Manifest::from_rows(&["pair_id", "pairs"], rows, "rows", base, &Settings::default());
        let manifest = manifest.expect("a manifest");
        let mut worker = Worker::new(Arc::new(Clouds::new(0)), 1);
        let chunks = manifest.chunks(3, &|_| false);
        // Not where there is no batch, for instance on a machine that does not share the directory.
        let error = worker.run_chunk_to(&chunks[0], &output, &|| false).expect_err("no batch");
        assert!(error.to_string().contains("share"), "{error}");
        assert!(!output.exists());

        let mut directory = Directory::create(&output, &manifest).expect("a batch");
        let nothing = worker.run_chunk_to(&chunks[0], &output, &|| true).expect("interrupted");
        assert_eq!(nothing, Receipt::default());
        let receipt = worker.run_chunk_to(&chunks[0], &output, &|| false).expect("three pairs");
        assert_eq!((receipt.parts.len(), receipt.made, receipt.failed), (1, 3, 3));
        assert!(receipt.parts[0].exists());
        directory.update().expect("read");
        assert_eq!(directory.finished(), 3);
        let given_up: Vec<Record> =
            chunks[1].rows.iter().map(|row| Record::failed(row, manifest.base(), "it died")).collect();
        directory.write_part(&given_up).expect("written");
        assert_eq!(directory.merge(&manifest).expect("all").failed, 5);
    }
}
