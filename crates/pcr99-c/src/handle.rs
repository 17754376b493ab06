//! Handles: solvers, clouds and results as numbers. A number is never given twice, so that a handle that was freed is noticed.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use ::pcr99_cloud::PreparedCloud;
use pcr99_document::Document;
use pcr99_plan::Solvers;

use crate::failure::{Failure, pcr99_code};

/// Memory of searches that is used again and again. Make one for each thread. Two threads that use one at the same time wait for each other.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pcr99_solver {
    /// Number of the handle; 0 is none.
    pub id: u64,
}

/// A cloud that is prepared once and registered many times, on any number of threads at once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pcr99_cloud {
    /// Number of the handle; 0 is none.
    pub id: u64,
}

/// The result of a registration.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pcr99_result {
    /// Number of the handle; 0 is none.
    pub id: u64,
}

/// What a handle stands for.
#[derive(Clone)]
enum Item {
    Solver(Arc<Mutex<Solvers>>),
    Cloud(Arc<PreparedCloud>),
    Result(Arc<Document>),
}

impl Item {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Solver(_) => "solver",
            Self::Cloud(_) => "cloud",
            Self::Result(_) => "result",
        }
    }
}

#[derive(Default)]
struct Items {
    last: u64,
    living: HashMap<u64, Item>,
}

static ITEMS: LazyLock<Mutex<Items>> = LazyLock::new(Mutex::default);

fn items() -> MutexGuard<'static, Items> {
    // Nothing in here panics half-way.
    ITEMS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert(item: Item) -> u64 {
    let mut items = items();
    items.last += 1;
    let id = items.last;
    items.living.insert(id, item);
    id
}

/// The error of a handle that does not stand for what was asked.
fn invalid(items: &Items, id: u64, kind: &str) -> Failure {
    let message = match items.living.get(&id) {
        Some(other) => format!("the handle {id} is a {}, not a {kind}", other.kind()),
        None if id == 0 => format!("the handle of a {kind} is 0: it was not made"),
        None if id <= items.last => format!("the {kind} with the handle {id} was freed"),
        None => format!("{id} is not the handle of a {kind}"),
    };
    Failure::new(pcr99_code::InvalidHandle, message)
}

/// Methods of one kind of handle.
macro_rules! handle {
    ($handle:ident, $item:ident, $name:literal, $content:ty) => {
        impl $handle {
            pub(crate) fn of(content: $content) -> Self {
                Self { id: insert(Item::$item(Arc::new(content))) }
            }

            pub(crate) fn get(self) -> Result<Arc<$content>, Failure> {
                let items = items();
                match items.living.get(&self.id) {
                    Some(Item::$item(content)) => Ok(Arc::clone(content)),
                    _ => Err(invalid(&items, self.id, $name)),
                }
            }

            /// Forgets the content; calls that use it at this moment go on. The handle 0 is left alone.
            pub(crate) fn free(self) -> Result<(), Failure> {
                if self.id == 0 {
                    return Ok(());
                }
                self.get()?;
                // Dropped after the lock is released: clouds are large.
                let _content = items().living.remove(&self.id);
                Ok(())
            }
        }
    };
}

handle!(pcr99_solver, Solver, "solver", Mutex<Solvers>);
handle!(pcr99_cloud, Cloud, "cloud", PreparedCloud);
handle!(pcr99_result, Result, "result", Document);
