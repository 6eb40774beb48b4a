//! Classes of pages by how often they are written: dynamic data clustering (Chiang, Lee and Chang, "Using data clustering
//! to improve cleaning performance for flash memory", Software: Practice and Experience 29(3), 1999). Only a page's
//! history counts: each host write makes it a class hotter, each move a class colder. Pages of a class are written to
//! an erase unit of their own.

/// The class of each page.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Heat {
    classes: u8,
    /// Counted from 1; 0 for a page that was never written. Empty with a single class.
    of: Vec<u8>,
}

impl Heat {
    /// All pages unwritten, with this many classes.
    #[must_use]
    pub fn new(classes: u8, pages: u32) -> Self {
        let pages = if classes > 1 { pages as usize } else { 0 };
        Heat { classes: classes.max(1), of: vec![0; pages] }
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> u8 {
        self.classes
    }

    /// Each page's class.
    #[must_use]
    pub fn of_pages(&self) -> &[u8] {
        &self.of
    }

    /// Takes over each page's class.
    pub fn restore(&mut self, of: Vec<u8>) {
        self.of = of;
    }

    /// The class of a page if it is written now, the coldest being 0.
    #[must_use]
    pub fn of_written(&self, page: u32) -> u8 {
        if self.classes <= 1 { 0 } else { self.classes.min(self.of[page as usize] + 1) - 1 }
    }

    /// The class of a page if it is moved now.
    #[must_use]
    pub fn of_moved(&self, page: u32) -> u8 {
        if self.classes <= 1 { 0 } else { self.of[page as usize].saturating_sub(1).max(1) - 1 }
    }

    /// The class of a page.
    #[must_use]
    pub fn of_present(&self, page: u32) -> u8 {
        if self.classes <= 1 { 0 } else { self.of[page as usize].max(1) - 1 }
    }

    /// Records a write of the page; returns its class.
    pub fn write(&mut self, page: u32) -> u8 {
        self.record(page, self.of_written(page))
    }

    /// Records a move of the page; returns its class.
    pub fn shift(&mut self, page: u32) -> u8 {
        self.record(page, self.of_moved(page))
    }

    #[inline(never)]
    fn record(&mut self, page: u32, class: u8) -> u8 {
        if self.classes > 1 {
            self.of[page as usize] = class + 1;
        }
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_make_pages_hotter_and_moves_colder() {
        let mut heat = Heat::new(3, 2);
        assert_eq!([0; 5].map(|_: u8| heat.write(0)), [0, 1, 2, 2, 2]);
        assert_eq!([0; 4].map(|_: u8| heat.shift(0)), [1, 0, 0, 0]);
        assert_eq!((heat.of_written(0), heat.of_moved(0), heat.of_written(1)), (1, 0, 0));
        assert_eq!((Heat::new(1, 9).write(7), Heat::new(1, 9).shift(7)), (0, 0));
    }
}
