use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use pcr99_base::output_file::{self, OutputFile};
use serde::{Deserialize, Serialize};

use super::{Configuration, Error, Key, Plan, Record, Session};

/// File with the configuration, the machines and the versions.
pub const CONFIG_FILE: &str = "config.json";

/// File with one record per line.
pub const RECORDS_FILE: &str = "records.jsonl";

/// Version of the format of both files.
const SCHEMA: u32 = 1;

/// Content of [`CONFIG_FILE`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub schema: u32,
    /// Settings.
    pub configuration: Configuration,
    /// Inlier threshold of every method, in target units.
    pub threshold: f64,
    /// Machines and programs; more than one when the benchmark was resumed elsewhere.
    pub sessions: Vec<Session>,
}

/// Content of the directory of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Settings and machines.
    pub header: Header,
    /// Records, in the order in which they were made.
    pub records: Vec<Record>,
}

impl Stored {
    /// Reads a directory. An incomplete last line, from a killed process, is ignored.
    ///
    /// # Errors
    /// When the directory contains no benchmark or damaged files.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let header = read_header(directory)?.ok_or_else(|| Error::Missing { directory: directory.into() })?;
        let file = directory.join(RECORDS_FILE);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::Io { action: "read", path: file, source }),
        };
        let (records, _) = parse(&bytes, &header.configuration, &file)?;
        Ok(Self { header, records })
    }

    /// Whether all records are present.
    pub fn is_complete(&self) -> bool {
        self.records.len() as u64 == self.header.configuration.records()
    }
}

/// Stores records in a directory, one line each, as they are made.
#[derive(Debug)]
pub struct Journal {
    /// File of records, locked while it is open.
    file: File,
    path: PathBuf,
    done: HashSet<Key>,
}

impl Journal {
    /// Starts a benchmark in a new or empty directory.
    ///
    /// # Errors
    /// When the directory contains files or cannot be written.
    pub fn create(directory: &Path, plan: &Plan, session: Session) -> Result<Self, Error> {
        if read_header(directory)?.is_some() {
            return Err(Error::Exists { directory: directory.into() });
        }
        let failed = |action| move |source| Error::Io { action, path: directory.into(), source };
        fs::create_dir_all(directory).map_err(failed("create the directory"))?;
        for entry in fs::read_dir(directory).map_err(failed("read"))? {
            let name = entry.map_err(failed("read"))?.file_name();
            if !output_file::is_unfinished(&name.to_string_lossy()) {
                return Err(Error::Foreign { directory: directory.into() });
            }
        }
        let header = Header {
            schema: SCHEMA,
            configuration: plan.configuration().clone(),
            threshold: plan.threshold().get(),
            sessions: vec![session],
        };
        write_header(directory, &header)?;
        let (file, path) = open_locked(directory)?;
        Ok(Self { file, path, done: HashSet::new() })
    }

    /// Resumes a benchmark, or starts it when the directory is empty.
    ///
    /// # Errors
    /// When the directory contains other files, a benchmark with other settings, or damaged files.
    pub fn resume(directory: &Path, plan: &Plan, session: Session) -> Result<Self, Error> {
        let Some(mut header) = read_header(directory)? else {
            return Self::create(directory, plan, session);
        };
        if let Some((setting, here, there)) = plan.configuration().difference(&header.configuration) {
            return Err(Error::OtherConfiguration { directory: directory.into(), setting, there, here });
        }
        let (mut file, path) = open_locked(directory)?;
        let failed = |action| {
            let path = path.clone();
            move |source| Error::Io { action, path, source }
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let (records, whole) = parse(&bytes, &header.configuration, &path)?;
        // Removes an incomplete last line.
        file.set_len(whole as u64).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        if header.sessions.last() != Some(&session) {
            header.sessions.push(session);
            write_header(directory, &header)?;
        }
        Ok(Self { file, path, done: records.iter().map(Record::key).collect() })
    }

    /// Number of records at the start.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there was no record at the start.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Keys of the records at the start.
    pub fn done(&self) -> &HashSet<Key> {
        &self.done
    }

    /// Stores one record. After this call, killing the process does not lose it.
    ///
    /// # Errors
    /// When the record cannot be written, for instance because the disk is full.
    pub fn append(&mut self, record: &Record) -> Result<(), Error> {
        let written = serde_json::to_string(record)
            .map_err(io::Error::from)
            // One call per line: there is no buffer that could be lost.
            .and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        written.map_err(|source| Error::Io { action: "write", path: self.path.clone(), source })
    }
}

/// Content of the configuration file; `None` when it does not exist.
fn read_header(directory: &Path) -> Result<Option<Header>, Error> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let file = directory.join(CONFIG_FILE);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        // A binary file of that name is not ours.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(Error::Foreign { directory: directory.into() });
        }
        Err(source) => return Err(Error::Io { action: "read", path: file, source }),
    };
    let Ok(Version { schema }) = serde_json::from_str(&text) else {
        return Err(Error::Foreign { directory: directory.into() });
    };
    let broken = |line: usize, cause: String| Error::Broken { file: file.clone(), line, cause };
    if schema != SCHEMA {
        let cause =
            format!("it has schema {schema}, this version reads schema {SCHEMA}; name another directory");
        return Err(broken(1, cause));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| broken(error.line(), error.to_string()))
}

fn write_header(directory: &Path, header: &Header) -> Result<(), Error> {
    let file = OutputFile::new(&directory.join(CONFIG_FILE))?;
    Ok(file.write(|out| {
        serde_json::to_writer_pretty(&mut *out, header)?;
        out.write_all(b"\n")
    })?)
}

fn open_locked(directory: &Path) -> Result<(File, PathBuf), Error> {
    let path = directory.join(RECORDS_FILE);
    let failed = |source| Error::Io { action: "write", path: path.clone(), source };
    let file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok((file, path)),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { directory: directory.into() }),
        // A file system without locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok((file, path)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Records of the complete lines, and the length of these lines in bytes.
fn parse(bytes: &[u8], configuration: &Configuration, file: &Path) -> Result<(Vec<Record>, usize), Error> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut records = Vec::new();
    let mut seen = HashSet::new();
    for (line, text) in (1..).zip(bytes[..whole].split_inclusive(|&byte| byte == b'\n')) {
        let broken = |cause: String| Error::Broken { file: file.to_path_buf(), line, cause };
        let record: Record = serde_json::from_slice(text).map_err(|error| {
            broken(format!("not a record ({error}): restore the file, or delete the line"))
        })?;
        let key = record.key();
        if !configuration.has(&key) {
            return Err(broken("a run that this configuration does not have: delete the line".to_owned()));
        }
        if !seen.insert(key) {
            return Err(broken("a run that is listed twice: delete the line".to_owned()));
        }
        records.push(record);
    }
    Ok((records, whole))
}

#[cfg(test)]
mod tests {
    use pcr99_baselines::Method;

    use super::*;
    use crate::{
        Shape,
        monte_carlo::{Ended, Jobs, Machine, Size, run},
    };

    fn plan(seed: u64) -> Plan {
        let configuration = Configuration {
            methods: vec![Method::Default, Method::Paper],
            sizes: Size::grid(&[40], &[0.0, 0.5]),
            runs: 2,
            seed,
            ..Configuration::quick()
        };
        Plan::new(configuration, Shape::Knot).unwrap()
    }

    fn session(jobs: usize) -> Session {
        Session {
            program: "test".to_owned(),
            commit: None,
            compiler: None,
            optimised: false,
            machine: Machine::this(),
            jobs,
        }
    }

    /// Records without their times.
    fn timeless(mut records: Vec<Record>) -> Vec<Record> {
        for record in &mut records {
            (record.cpu_seconds, record.wall_seconds) = (None, 0.0);
        }
        records
    }

    /// Runs what is missing, at most this number of records.
    fn go_on(journal: &mut Journal, plan: &Plan, most: usize) -> (Ended, usize) {
        let done = journal.done().clone();
        let made = std::sync::atomic::AtomicUsize::new(0);
        let stop = || made.load(std::sync::atomic::Ordering::Relaxed) >= most;
        let ended = run(plan, &|key| done.contains(key), Jobs::One, &stop, &mut |record| {
            made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            journal.append(&record)
        });
        (ended.unwrap(), made.into_inner())
    }

    #[test]
    fn goes_on_after_any_number_of_records_and_a_torn_line() {
        let (plan, all) = (plan(0), 24);
        assert_eq!(plan.configuration().records(), all as u64);
        let place = tempfile::tempdir().unwrap();
        let whole = place.path().join("whole");
        assert_eq!(
            go_on(&mut Journal::create(&whole, &plan, session(1)).unwrap(), &plan, usize::MAX),
            (Ended::Finished, all)
        );
        let expected = Stored::read(&whole).unwrap();
        assert!(expected.is_complete());
        for (most, torn) in [(1, ""), (7, "{\"method\":\"def"), (23, "{"), (5, "not even JSON")] {
            let directory = place.path().join(format!("after {most}"));
            let mut journal = Journal::create(&directory, &plan, session(1)).unwrap();
            assert_eq!(go_on(&mut journal, &plan, most), (Ended::Interrupted, most));
            journal.file.write_all(torn.as_bytes()).unwrap();
            drop(journal);
            let stored = Stored::read(&directory).unwrap();
            assert_eq!((stored.records.len(), stored.is_complete()), (most, false));

            let mut journal = Journal::resume(&directory, &plan, session(1)).unwrap();
            assert_eq!(journal.len(), most);
            assert_eq!(go_on(&mut journal, &plan, usize::MAX), (Ended::Finished, all - most));
            let stored = Stored::read(&directory).unwrap();
            assert_eq!(timeless(stored.records), timeless(expected.records.clone()));
            assert_eq!(stored.header, expected.header);
        }
    }

    #[test]
    fn goes_on_elsewhere_and_says_so() {
        let place = tempfile::tempdir().unwrap();
        // An empty directory is started, also when another process was killed before it had written anything.
        fs::write(place.path().join(".unfinished-1.tmp"), "{").unwrap();
        drop(Journal::resume(place.path(), &plan(0), session(1)).unwrap());
        drop(Journal::resume(place.path(), &plan(0), session(1)).unwrap());
        drop(Journal::resume(place.path(), &plan(0), session(2)).unwrap());
        let sessions = Stored::read(place.path()).unwrap().header.sessions;
        assert_eq!(sessions.iter().map(|session| session.jobs).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn nothing_of_others_is_touched() {
        let place = tempfile::tempdir().unwrap();
        let message = |result: Result<Journal, Error>| result.unwrap_err().to_string();
        let foreign = place.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("thesis.tex"), "years").unwrap();
        for open in [Journal::create, Journal::resume] {
            assert!(message(open(&foreign, &plan(0), session(1))).contains("is not empty"));
        }
        fs::write(foreign.join(CONFIG_FILE), "{\"colour\": \"blue\"}").unwrap();
        for open in [Journal::create, Journal::resume] {
            assert!(message(open(&foreign, &plan(0), session(1))).contains("is not empty"));
        }
        assert_eq!(fs::read_dir(&foreign).unwrap().count(), 2);

        let ours = place.path().join("ours");
        let journal = Journal::create(&ours, &plan(0), session(1)).unwrap();
        assert!(
            message(Journal::resume(&ours, &plan(0), session(1))).contains("another benchmark is writing")
        );
        drop(journal);
        let before = fs::read(ours.join(CONFIG_FILE)).unwrap();
        assert!(message(Journal::create(&ours, &plan(0), session(1))).contains("--resume"));
        let other = message(Journal::resume(&ours, &plan(7), session(1)));
        assert!(other.contains("its `seed` is 0, not 7"), "{other}");
        assert_eq!(fs::read(ours.join(CONFIG_FILE)).unwrap(), before);

        let file = place.path().join("file");
        fs::write(&file, "text").unwrap();
        assert!(
            message(Journal::create(&file, &plan(0), session(1))).contains("cannot create the directory")
        );
        let missing = Stored::read(&place.path().join("nowhere")).unwrap_err().to_string();
        assert!(missing.contains("contains no benchmark"), "{missing}");
    }

    #[test]
    fn broken_records_are_named_by_their_line() {
        let place = tempfile::tempdir().unwrap();
        let plan = plan(0);
        go_on(&mut Journal::create(place.path(), &plan, session(1)).unwrap(), &plan, 3);
        let file = place.path().join(RECORDS_FILE);
        let text = fs::read_to_string(&file).unwrap();
        let message = |text: String| {
            fs::write(&file, text).unwrap();
            assert!(Journal::resume(place.path(), &plan, session(1)).is_err());
            Stored::read(place.path()).unwrap_err().to_string()
        };
        let lines: Vec<&str> = text.lines().collect();
        let broken = message(format!("{}\ngarbage\n{}\n", lines[0], lines[1]));
        assert!(broken.contains("records.jsonl`, line 2: not a record"), "{broken}");
        let twice = message(format!("{text}{}\n", lines[1]));
        assert!(twice.contains("line 4: a run that is listed twice"), "{twice}");
        let foreign = message(text.replace("\"run\":0", "\"run\":2"));
        assert!(foreign.contains("line 1: a run that this configuration does not have"), "{foreign}");
        fs::write(place.path().join(CONFIG_FILE), "{\"schema\": 2}").unwrap();
        assert!(message(text).contains("schema 2"));
    }
}
