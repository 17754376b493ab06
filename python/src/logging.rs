//! What the library tells, as records of Python's logger `pcr99`.

use std::sync::Once;

use log::{Level, LevelFilter, Log, Metadata, Record};
use pcr99_base::logging::TARGET;
use pyo3::{exceptions::PyException, intern, prelude::*, sync::PyOnceLock, types::PyAnyMethods};

/// Python's numbers of the two levels.
const INFO: u8 = 20;
const DEBUG: u8 = 10;

static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn logger(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let make = || py.import("logging")?.call_method1("getLogger", (TARGET,)).map(Bound::unbind);
    Ok(LOGGER.get_or_try_init(py, make)?.bind(py))
}

/// Hands lines to the logger.
struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = if record.level() <= Level::Info { INFO } else { DEBUG };
        // While the interpreter ends, nobody listens.
        Python::try_attach(|py| {
            let line = record.args().to_string();
            let told = logger(py).and_then(|logger| logger.call_method1(intern!(py, "log"), (level, line)));
            let Err(error) = told else { return };
            if error.is_instance_of::<PyException>(py) {
                // A handler failed. That ends no search.
                error.write_unraisable(py, None);
            } else {
                // Ctrl-C arrived while the handler ran: it is raised again where the search looks for it.
                let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
            }
        });
    }

    fn flush(&self) {}
}

/// Tells from now on what the logger lets through. Called at the start of work, so that a logger that is switched off costs nothing during it.
pub(crate) fn follow(py: Python<'_>) {
    static SET: Once = Once::new();
    // The program, run within Python, may have set its own.
    SET.call_once(|| drop(log::set_logger(&Listener)));
    let is_heard = |level: u8| -> PyResult<bool> {
        logger(py)?.call_method1(intern!(py, "isEnabledFor"), (level,))?.is_truthy()
    };
    let filter = match (is_heard(DEBUG), is_heard(INFO)) {
        (Ok(true), _) => LevelFilter::Debug,
        (_, Ok(true)) => LevelFilter::Info,
        _ => LevelFilter::Off,
    };
    log::set_max_level(filter);
}
