//! Hints to the processor. They change nothing but speed.

/// Asks for an entry of a table before it is wanted; nothing where there is none.
#[inline]
pub fn prefetch<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(at) {
        load(entry);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// It reads nothing and cannot fault.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline]
fn load<T>(entry: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the address is that of a live reference, and a prefetch has no effect on memory.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) }
}
