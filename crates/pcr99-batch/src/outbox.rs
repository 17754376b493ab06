//! Finished pairs on their way from the threads that work to the thread that writes.
//!
//! A channel would wake the writing thread for each pair, which costs more than many pairs themselves. Here it wakes for several pairs at a time,
//! or after a while.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{parts::Line, record::Record, run::MOST_WAITING};

/// Number of pairs for which the writing thread is woken, unless chunks are smaller. Waking takes about as long as a small pair.
const WAKE_FOR: usize = 64;

/// A finished pair.
pub(crate) struct Finished {
    pub(crate) record: Record,
    /// Its line of a part file, made by the thread that worked on it.
    pub(crate) line: io::Result<Line>,
}

/// Finished pairs, of bounded number, so that results do not fill the memory when the disk is slow.
pub(crate) struct Outbox {
    /// Number of pairs for which the writing thread is woken.
    due: usize,
    /// Largest number of pairs.
    most: usize,
    state: Mutex<State>,
    /// Pairs wait to be taken, or the last thread has ended.
    arrived: Condvar,
    /// There is room again, or nothing is taken any more.
    taken: Condvar,
}

/// A thread that works.
pub(crate) struct Presence<'a>(&'a Outbox);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.arrived.notify_one();
    }
}

struct State {
    finished: Vec<Finished>,
    /// Values in them.
    values: usize,
    /// Threads that work.
    workers: usize,
    /// Whether nothing is taken any more.
    closed: bool,
}

impl Outbox {
    /// An outbox for `workers` threads, whose results are written every `chunk` pairs.
    pub(crate) fn new(workers: usize, chunk: usize) -> Self {
        let state = State { finished: Vec::new(), values: 0, workers: 0, closed: false };
        let due = chunk.clamp(1, WAKE_FOR);
        // Further pairs are finished while these are taken.
        let most = (2 * due).max(2 * workers + 1);
        Self { due, most, state: Mutex::new(state), arrived: Condvar::new(), taken: Condvar::new() }
    }

    /// Adds a pair when there is room; `false` when nothing is taken any more.
    pub(crate) fn put(&self, pair: Finished) -> bool {
        let has_room = |state: &State| state.finished.len() < self.most && state.values < MOST_WAITING;
        let mut state = self.lock();
        while !has_room(&state) && !state.closed {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return false;
        }
        state.values += pair.record.values();
        state.finished.push(pair);
        if self.is_due(&state) {
            self.arrived.notify_one();
        }
        true
    }

    /// All pairs that wait, when there are several or `wait` has passed; and whether they are the last.
    pub(crate) fn take(&self, wait: Duration) -> (Vec<Finished>, bool) {
        let waits = |state: &mut State| !self.is_due(state) && state.workers > 0;
        let state = self.arrived.wait_timeout_while(self.lock(), wait, waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner).0;
        state.values = 0;
        let taken = (std::mem::take(&mut state.finished), state.workers == 0);
        drop(state);
        self.taken.notify_all();
        taken
    }

    /// A thread that works; it has ended when the value is dropped, even by a panic.
    pub(crate) fn enter(&self) -> Presence<'_> {
        self.lock().workers += 1;
        Presence(self)
    }

    /// Notes that nothing is taken any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.taken.notify_all();
    }

    /// Whether enough pairs wait that they should be taken now.
    fn is_due(&self, state: &State) -> bool {
        state.finished.len() >= self.due || state.values >= MOST_WAITING
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manifest, Settings};
    use std::{path::Path, thread, time::Instant};

    fn pair(name: usize) -> Finished {
        let rows = [vec![name.to_string(), "nowhere.txt".to_owned()]];
        let manifest =
            Manifest::from_rows(&["pair_id", "pairs"], rows, "rows", "/".into(), &Settings::default());
        let record = Record::failed(&manifest.expect("a manifest").rows()[0], Path::new("/"), "no file");
        Finished { line: Line::of(&record), record }
    }

    fn names(pairs: &[Finished]) -> Vec<String> {
        pairs.iter().map(|pair| pair.record.row.pair_id.to_string()).collect()
    }

    #[test]
    fn pairs_are_taken_when_they_are_due_or_after_a_while() {
        let outbox = Outbox::new(1, 2);
        let presence = outbox.enter();
        let start = Instant::now();
        assert!(outbox.put(pair(0)));
        let (taken, is_last) = outbox.take(Duration::from_millis(20));
        assert_eq!((names(&taken), is_last), (vec!["0".to_owned()], false));
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert!(outbox.put(pair(1)) && outbox.put(pair(2)));
        assert_eq!(names(&outbox.take(Duration::from_secs(1000)).0), ["1", "2"]);
        assert!(outbox.put(pair(3)));
        drop(presence);
        let (taken, is_last) = outbox.take(Duration::from_secs(1000));
        assert_eq!((names(&taken), is_last), (vec!["3".to_owned()], true));
    }

    #[test]
    fn a_full_outbox_waits_until_it_is_emptied_or_closed() {
        let outbox = Outbox::new(1, 1);
        let presence = outbox.enter();
        thread::scope(|scope| {
            let outbox = &outbox;
            let worker = scope.spawn(move || {
                let _present = presence;
                (0..100)
                    .map(pair)
                    .take_while(|_| true)
                    .map(|pair| outbox.put(pair))
                    .take_while(|put| *put)
                    .count()
            });
            let mut seen = Vec::new();
            while seen.len() < 20 {
                let (taken, _) = outbox.take(Duration::from_secs(1000));
                assert!(taken.len() <= 3, "{}", taken.len());
                seen.extend(names(&taken));
            }
            outbox.close();
            let put = worker.join().expect("no panic");
            assert!((20..=26).contains(&put), "{put}");
            assert!(seen.iter().enumerate().all(|(i, name)| *name == i.to_string()), "{seen:?}");
        });
    }
}
