//! Memory for tables that grow with a run: if it is not available, the run ends with [`OutOfMemory`]. A failed
//! allocation anywhere else ends the process, so large tables grow through [`make_room`].

/// The payload of the panic of a run that is out of memory; the caller of the run turns it into an error.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory {
    /// The size that was asked for, in bytes.
    pub bytes: u64,
    /// What needs it, and how to need less; empty if that is not known.
    pub advice: &'static str,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "out of memory: there is no room for another {} MiB", self.bytes.div_ceil(1 << 20))?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

/// Ends a run that needs `bytes` more than are available.
///
/// # Panics
/// Always, with [`OutOfMemory`].
#[cold]
#[inline(never)]
fn end_without_memory(bytes: u64, advice: &'static str) -> ! {
    std::panic::panic_any(OutOfMemory { bytes, advice })
}

/// Makes sure that a table can take `more` items.
#[inline]
pub fn make_room<T>(table: &mut Vec<T>, more: usize) {
    if table.capacity() - table.len() < more && table.try_reserve(more).is_err() {
        let items = (table.len() + more).max(2 * table.capacity());
        end_without_memory((items * size_of::<T>()) as u64, "");
    }
}

/// The item at a place of a table, which grows until it has one.
#[inline(always)]
pub fn reach<T: Default>(table: &mut Vec<T>, at: usize) -> &mut T {
    if at < table.len() { &mut table[at] } else { grow(table, at) }
}

#[cold]
#[inline(never)]
fn grow<T: Default>(table: &mut Vec<T>, at: usize) -> &mut T {
    make_room(table, at + 1 - table.len());
    table.resize_with(at + 1, T::default);
    &mut table[at]
}

/// Ends the run with this advice if `bytes` cannot be allocated at once.
pub fn check_room(bytes: u64, advice: &'static str) {
    let fits = usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if !fits {
        end_without_memory(bytes, advice);
    }
}
