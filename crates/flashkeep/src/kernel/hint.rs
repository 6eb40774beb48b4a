//! Hints to the processor and the operating system. They affect speed only.

/// Prefetches an entry of a table; does nothing if the table has no such entry.
#[inline]
pub fn prefetch<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(at) {
        load(entry);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// A prefetch cannot fault.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline]
fn load<T>(entry: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the address is that of a live reference, and a prefetch has no effect on memory.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) }
}

/// Makes the allocator return every large table to the system when it is freed. Otherwise it keeps what the tables of one
/// run leave, and clears all of it for those of the next run, of which most drives touch a small part.
pub fn free_large_tables() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set_threshold();
}

/// The system may refuse; then runs that follow each other take more memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn set_threshold() {
    const LARGE_TABLE: libc::c_int = 8 << 20;
    static SET: std::sync::Once = std::sync::Once::new();
    // SAFETY: the call changes a parameter of the allocator, which locks it.
    SET.call_once(|| unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_TABLE);
    });
}

/// The size of a large page on systems where the hint has an effect.
const LARGE_PAGE: usize = 2 << 20;

/// For larger tables, a run that touches few places would spend more time on clearing large pages than it saves.
const MOST: usize = 64 << 20;

/// Asks the system to back a new table with large pages, before it is written to: a table of tens of MiB has more small
/// pages than the processor's TLB has entries, and each of them costs a page fault.
fn in_large_pages<T>(table: &[T]) {
    #[cfg(target_os = "linux")]
    if (LARGE_PAGE..=MOST).contains(&std::mem::size_of_val(table)) {
        advise(table);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (table, LARGE_PAGE, MOST);
}

/// A table of zeros, in large pages. Touches no memory.
#[must_use]
pub fn zeros_in_large_pages(count: usize) -> Vec<u32> {
    let table = vec![0; count];
    in_large_pages(&table);
    table
}

/// A table of equal entries, in large pages.
#[must_use]
pub fn filled_in_large_pages<T: Clone>(entry: T, count: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(count);
    in_large_pages(table.spare_capacity_mut());
    table.resize(count, entry);
    table
}

/// The system may refuse; then the hint has no effect.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise<T>(table: &[T]) {
    const SMALL_PAGE: usize = 4 << 10;
    let range = table.as_ptr_range();
    let first = range.start.addr().next_multiple_of(SMALL_PAGE);
    let length = (range.end.addr() - first) / SMALL_PAGE * SMALL_PAGE;
    let start = table.as_ptr().with_addr(first).cast_mut().cast();
    // SAFETY: the pages lie within a live table, and the advice does not change their contents.
    unsafe { libc::madvise(start, length, libc::MADV_HUGEPAGE) };
}
