use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use pcr99_base::{
    output_file::{self, OutputFile},
    sealed,
};
use serde::{Deserialize, Serialize};

use super::{Configuration, Error, Key, Plan, Record, Session};

/// File with the configuration, the machines and the versions.
pub const CONFIG_FILE: &str = "config.json";

/// File with one record per line.
pub const RECORDS_FILE: &str = "records.jsonl";

/// Version of the format of both files. Since version 2, the configuration and each record have a checksum.
const SCHEMA: u32 = 2;

/// Version without checksums. Its records can be read, but not continued.
const WITHOUT_CHECKSUMS: u32 = 1;

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
        let parsed = parse(&bytes, &header, &file)?;
        match parsed.damage.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(Self { header, records: parsed.records }),
        }
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
    /// What the checksums cover besides the records.
    context: String,
    /// Bytes of the file.
    length: u64,
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
        let header = new_header(plan, session);
        write_header(directory, &header)?;
        let (file, path) = open_locked(directory)?;
        Ok(Self { file, path, context: context(&header), length: 0, done: HashSet::new() })
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
        if header.schema == WITHOUT_CHECKSUMS {
            return Err(Error::NoChecksums { directory: directory.into() });
        }
        let (mut file, path) = open_locked(directory)?;
        remove_unfinished(directory)?;
        let failed = |action| {
            let path = path.clone();
            move |source| Error::Io { action, path, source }
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let Parsed { records, whole, damage, .. } = parse(&bytes, &header, &path)?;
        if let Some(error) = damage.into_iter().next() {
            return Err(error);
        }
        // Removes an incomplete last line.
        file.set_len(whole as u64).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        if header.sessions.last() != Some(&session) {
            header.sessions.push(session);
            write_header(directory, &header)?;
        }
        let done = records.iter().map(Record::key).collect();
        Ok(Self { file, path, context: context(&header), length: whole as u64, done })
    }

    /// Resumes a benchmark as [`resume`](Self::resume) does, but drops damaged records, whose runs are repeated. Also returns the number of
    /// damaged lines.
    ///
    /// # Errors
    /// As [`resume`](Self::resume), except for damage.
    pub fn repair(directory: &Path, plan: &Plan, session: Session) -> Result<(Self, usize), Error> {
        let (header, mut damaged) = match read_header(directory) {
            Ok(None) => return Ok((Self::create(directory, plan, session)?, 0)),
            Ok(Some(header)) => (header, 0),
            // Records of other settings do not have the checksums of these.
            Err(Error::Broken { .. }) => (new_header(plan, session.clone()), 1),
            Err(error) => return Err(error),
        };
        let has_other_settings = plan.configuration().difference(&header.configuration).is_some();
        if !has_other_settings && header.schema != WITHOUT_CHECKSUMS {
            let (mut file, path) = open_locked(directory)?;
            let failed = |source| Error::Io { action: "read", path: path.clone(), source };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(failed)?;
            let Parsed { intact, damage, .. } = parse(&bytes, &header, &path)?;
            damaged += damage.len();
            if damaged > 0 {
                write_header(directory, &header)?;
                OutputFile::new(&path)?.write(|out| out.write_all(&intact))?;
            }
        }
        Ok((Self::resume(directory, plan, session)?, damaged))
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
        // A file that was removed can still be written, but nobody finds it.
        if fs::metadata(&self.path).map_or(true, |file| file.len() != self.length) {
            return Err(Error::Gone { file: self.path.clone() });
        }
        let line = serde_json::to_string(record).map(|text| sealed::seal(text, &self.context) + "\n");
        let written = line.map_err(io::Error::from).and_then(|line| {
            // One call per line: there is no buffer that could be lost.
            self.file.write_all(line.as_bytes())?;
            self.length += line.len() as u64;
            Ok(())
        });
        written.map_err(|source| Error::Io { action: "write", path: self.path.clone(), source })
    }
}

fn new_header(plan: &Plan, session: Session) -> Header {
    Header {
        schema: SCHEMA,
        configuration: plan.configuration().clone(),
        threshold: plan.threshold().get(),
        sessions: vec![session],
    }
}

/// What the checksums of records cover besides the records: the settings, so that records of other settings are not taken for these.
fn context(header: &Header) -> String {
    serde_json::to_string(&(&header.configuration, header.threshold)).unwrap_or_default()
}

/// Checksum of a header. It does not depend on spaces and line ends.
fn checksum(header: &Header) -> String {
    sealed::checksum(&serde_json::to_string(header).unwrap_or_default(), "")
}

/// Removes files that killed processes left behind. The directory must be locked.
fn remove_unfinished(directory: &Path) -> Result<(), Error> {
    let failed = |action| move |source| Error::Io { action, path: directory.into(), source };
    for entry in fs::read_dir(directory).map_err(failed("read"))? {
        let entry = entry.map_err(failed("read"))?;
        if output_file::is_unfinished(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).map_err(failed("remove files in"))?;
        }
    }
    Ok(())
}

/// Content of [`CONFIG_FILE`] with the checksum of the header.
#[derive(Serialize, Deserialize)]
struct SealedHeader {
    #[serde(flatten)]
    header: Header,
    checksum: String,
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
    let broken = |line: usize, cause: String| Error::Broken { file: file.clone(), line, cause };
    let Ok(Version { schema }) = serde_json::from_str(&text) else {
        // Another program may use the same file name.
        return Err(if directory.join(RECORDS_FILE).exists() {
            broken(1, format!("it is damaged; {REMEDY}"))
        } else {
            Error::Foreign { directory: directory.into() }
        });
    };
    match schema {
        SCHEMA => {
            let sealed: SealedHeader = serde_json::from_str(&text)
                .map_err(|error| broken(error.line(), format!("it is damaged ({error}); {REMEDY}")))?;
            if checksum(&sealed.header) != sealed.checksum {
                return Err(broken(1, format!("its content does not have its checksum; {REMEDY}")));
            }
            Ok(Some(sealed.header))
        }
        WITHOUT_CHECKSUMS => {
            serde_json::from_str(&text).map(Some).map_err(|error| broken(error.line(), error.to_string()))
        }
        _ => {
            let cause =
                format!("it has schema {schema}, this version reads schema {SCHEMA}; name another directory");
            Err(Error::OtherSchema { file, cause })
        }
    }
}

/// What to do about damage.
const REMEDY: &str = "--resume --repair drops what is damaged and repeats its runs";

fn write_header(directory: &Path, header: &Header) -> Result<(), Error> {
    let file = OutputFile::new(&directory.join(CONFIG_FILE))?;
    Ok(file.write(|out| {
        let sealed = SealedHeader { header: header.clone(), checksum: checksum(header) };
        serde_json::to_writer_pretty(&mut *out, &sealed)?;
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

/// Content of the file of records.
struct Parsed {
    records: Vec<Record>,
    /// Length of the complete lines in bytes.
    whole: usize,
    /// The lines of `records`.
    intact: Vec<u8>,
    /// Damaged lines.
    damage: Vec<Error>,
}

/// Reads the complete lines of the file of records.
fn parse(bytes: &[u8], header: &Header, file: &Path) -> Result<Parsed, Error> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let context = context(header);
    let mut parsed = Parsed { records: Vec::new(), whole, intact: Vec::new(), damage: Vec::new() };
    let mut seen = HashSet::new();
    for (line, text) in (1..).zip(bytes[..whole].split_inclusive(|&byte| byte == b'\n')) {
        let intact = match header.schema {
            WITHOUT_CHECKSUMS => Ok(()),
            _ => sealed::check(text, &context).map_err(|damage| damage.to_string()),
        };
        let record = intact.and_then(|()| {
            let record: Record =
                serde_json::from_slice(text).map_err(|error| format!("it is not a record ({error})"))?;
            let key = record.key();
            if !header.configuration.has(&key) {
                return Err("it is a run that this configuration does not have".to_owned());
            }
            if !seen.insert(key) {
                return Err("it is a run that is listed twice".to_owned());
            }
            Ok(record)
        });
        match record {
            Ok(record) => {
                parsed.records.push(record);
                parsed.intact.extend(text);
            }
            Err(cause) => {
                let cause = format!("{cause}; {REMEDY}");
                parsed.damage.push(Error::Broken { file: file.to_path_buf(), line, cause });
            }
        }
    }
    Ok(parsed)
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
        assert!(
            broken.contains("records.jsonl`, line 2: it does not end with a checksum; --resume --repair"),
            "{broken}"
        );
        let twice = message(format!("{text}{}\n", lines[1]));
        assert!(twice.contains("line 4: it is a run that is listed twice"), "{twice}");
        let foreign = message(text.replace("\"run\":0", "\"run\":2"));
        assert!(foreign.contains("line 1: its text does not have its checksum"), "{foreign}");
        // A digit of a result.
        let digit = text.find("\"wall_seconds\":").unwrap() + 18;
        let other = if text.as_bytes()[digit] == b'1' { "2" } else { "1" };
        let digit = message(format!("{}{other}{}", &text[..digit], &text[digit + 1..]));
        assert!(digit.contains("line 1: its text does not have its checksum"), "{digit}");
        fs::write(place.path().join(CONFIG_FILE), "{\"schema\": 3}").unwrap();
        assert!(message(text).contains("schema 3"));
    }

    #[test]
    fn a_removed_directory_ends_the_benchmark() {
        let place = tempfile::tempdir().unwrap();
        let (directory, plan) = (place.path().join("out"), plan(0));
        let mut journal = Journal::create(&directory, &plan, session(1)).unwrap();
        go_on(&mut journal, &plan, 2);
        let record = Stored::read(&directory).unwrap().records[0].clone();
        fs::remove_dir_all(&directory).unwrap();
        let error = journal.append(&record).unwrap_err().to_string();
        assert!(error.contains("was removed or changed while the benchmark was running"), "{error}");
        assert!(!directory.exists());
    }

    #[test]
    fn repair_drops_what_is_damaged_and_nothing_else() {
        let (plan, all) = (plan(0), 24);
        let place = tempfile::tempdir().unwrap();
        go_on(&mut Journal::create(place.path(), &plan, session(1)).unwrap(), &plan, usize::MAX);
        let expected = Stored::read(place.path()).unwrap();
        let [records, config] = [RECORDS_FILE, CONFIG_FILE].map(|name| place.path().join(name));
        let (text, header) = (fs::read(&records).unwrap(), fs::read(&config).unwrap());
        let repaired = |damaged: usize, lost: usize| {
            fs::write(place.path().join(".unfinished-1.tmp"), "{").unwrap();
            assert!(Journal::resume(place.path(), &plan, session(1)).is_err());
            let (mut journal, found) = Journal::repair(place.path(), &plan, session(1)).unwrap();
            assert_eq!((found, journal.len()), (damaged, all - lost));
            assert_eq!(go_on(&mut journal, &plan, usize::MAX).0, Ended::Finished);
            assert!(!place.path().join(".unfinished-1.tmp").exists());
            let stored = Stored::read(place.path()).unwrap();
            let sorted = |stored: &Stored| {
                let mut lines: Vec<String> =
                    timeless(stored.records.clone()).iter().map(|r| format!("{r:?}")).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&stored), sorted(&expected));
            assert_eq!(stored.header.configuration, expected.header.configuration);
        };
        let mut damaged = text.clone();
        damaged[40] ^= 1;
        // Well inside of one line: damage that covers a line end would merge two records into one.
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let middle = lines.take(12).map(<[u8]>::len).sum::<usize>() + 40;
        damaged[middle..middle + 9].fill(b'?');
        fs::write(&records, damaged).unwrap();
        repaired(2, 2);
        // The settings are those of the command; the checksums of the records say whether they have the same.
        fs::write(&records, &text).unwrap();
        let seed = String::from_utf8(header.clone()).unwrap().replace("\"seed\": 0", "\"seed\": 1");
        fs::write(&config, seed).unwrap();
        repaired(1, 0);
        fs::write(&records, &text).unwrap();
        fs::write(&config, &header[..header.len() / 2]).unwrap();
        repaired(1, 0);
    }

    /// Records without checksums are read, but nobody knows whether they are intact, so they are not continued.
    #[test]
    fn records_without_checksums_are_read_but_not_continued() {
        let place = tempfile::tempdir().unwrap();
        let plan = plan(0);
        go_on(&mut Journal::create(place.path(), &plan, session(1)).unwrap(), &plan, 3);
        let stored = Stored::read(place.path()).unwrap();
        let header = serde_json::to_string_pretty(&Header { schema: 1, ..stored.header.clone() }).unwrap();
        fs::write(place.path().join(CONFIG_FILE), header).unwrap();
        let lines: Vec<String> =
            stored.records.iter().map(|r| serde_json::to_string(r).unwrap() + "\n").collect();
        fs::write(place.path().join(RECORDS_FILE), lines.concat()).unwrap();
        assert_eq!(Stored::read(place.path()).unwrap().records, stored.records);
        for error in [
            Journal::resume(place.path(), &plan, session(1)).unwrap_err(),
            Journal::repair(place.path(), &plan, session(1)).unwrap_err(),
        ] {
            assert!(error.to_string().contains("has no checksums"), "{error}");
        }
    }
}
