//! `[disk]`: a drive with heads and platters instead of flash.

use super::check::{Check, Resolved};
use crate::disk::{
    DISK_SECTOR_BYTES, DiskSpec, SeekCurve, SeekPoints, SeekSettle, SeekTable, SeekTimes, Surface, sectors_of,
};
use crate::error::DriveError;

/// Page addresses have 32 bits, of which the layers above use 31.
const MOST_PAGES: u64 = (1 << 31) - 2;

/// The largest number of cylinders: the seek table has an entry for each.
const MOST_CYLINDERS: u64 = 16_777_216;

/// Tables that do not apply to a disk.
const OF_FLASH: [&str; 7] = ["flash", "errors", "ftl", "buffer", "redundancy", "ageing", "condition"];

impl Resolved {
    /// The disk that the drive is, if it is one.
    #[must_use]
    pub fn disk(&self) -> Option<&DiskSpec> {
        self.spec.disk.as_ref()
    }

    /// The disk as a member of an array with this page size.
    pub(super) fn set_page(&mut self, page_kib: f64) {
        self.spec.flash.page_kib = page_kib;
        if let Some(disk) = &mut self.spec.disk {
            disk.page_kib = page_kib;
        }
    }

    /// Its keys for the summary: those that apply to a disk.
    pub(super) fn without_flash(&self, mut keys: serde_json::Value) -> serde_json::Value {
        if let (Some(_), Some(keys)) = (self.disk(), keys.as_object_mut()) {
            keys.retain(|key, _| !OF_FLASH.contains(&key.as_str()));
        }
        keys
    }
}

impl Check<'_> {
    /// Checks that no keys of flash are set, that the disk's pages can be numbered, and that its parameters are
    /// consistent.
    pub(super) fn disk(&mut self) -> Result<(), DriveError> {
        let Some(disk) = &self.spec.disk else { return Ok(()) };
        if let Some(key) = self.given.first_in(&OF_FLASH) {
            let (last, others) = OF_FLASH.split_last().expect("there are some");
            let message = format!(
                "a drive file with [disk] describes a disk: it accepts no keys of [{}] and [{last}]",
                others.join("], [")
            );
            return Err(self.wrong(&[key], message));
        }
        if disk.page_kib * 1024.0 % f64::from(DISK_SECTOR_BYTES) != 0.0 {
            let message =
                format!("found {}; a whole number of sectors of 512 bytes is accepted", disk.page_kib);
            return Err(self.wrong(&["disk.page_kib"], message));
        }
        let pages = disk.sectors() / disk.page_sectors();
        if pages == 0 || pages > MOST_PAGES {
            let message = format!(
                "{} GB are {pages} pages of {} KiB; 1 to {MOST_PAGES} are accepted",
                disk.capacity_gb, disk.page_kib
            );
            return Err(self.wrong(&["disk.capacity_gb", "disk.page_kib"], message));
        }
        if disk.rate_inner_mb_s > disk.rate_outer_mb_s {
            let message = format!(
                "found {}; at most disk.rate_outer_mb_s ({}) is accepted: outer tracks are longer",
                disk.rate_inner_mb_s, disk.rate_outer_mb_s
            );
            return Err(self.wrong(&["disk.rate_inner_mb_s", "disk.rate_outer_mb_s"], message));
        }
        self.disk_surface(disk)?;
        self.seek_curve(disk)?;
        let page_kib = disk.page_kib;
        // General questions about a drive's pages are answered from these values.
        self.spec.flash.page_kib = page_kib;
        Ok(())
    }

    fn disk_surface(&self, disk: &DiskSpec) -> Result<(), DriveError> {
        let shortest = sectors_of(disk.rate_inner_mb_s, disk.rpm);
        if shortest == 0 {
            let message = format!(
                "{} MB/s at {} revolutions a minute are less than one sector per track",
                disk.rate_inner_mb_s, disk.rpm
            );
            return Err(self.wrong(&["disk.rate_inner_mb_s", "disk.rpm"], message));
        }
        // Before anything is built: the seek table has a place for each.
        let most = disk.sectors() / (shortest * u64::from(disk.heads));
        if most > MOST_CYLINDERS {
            let message = format!(
                "{} GB need about {most} cylinders; at most {MOST_CYLINDERS} are accepted",
                disk.capacity_gb
            );
            return Err(self.wrong(&["disk.capacity_gb", "disk.heads", "disk.rate_inner_mb_s"], message));
        }
        let surface = Surface::new(disk);
        let (needed, given) = (surface.used_cylinders(), surface.cylinders());
        if needed > given {
            let message = format!(
                "found {given}; {} GB need {needed} cylinders with {} heads at these rates; without this \
                 key the number is computed",
                disk.capacity_gb, disk.heads
            );
            return Err(self.wrong(&["disk.cylinders", "disk.heads", "disk.capacity_gb"], message));
        }
        Ok(())
    }

    fn seek_curve(&self, disk: &DiskSpec) -> Result<(), DriveError> {
        let cylinders = Surface::new(disk).cylinders();
        SeekTable::new(&disk.seek, cylinders).map_err(|(key, message)| self.wrong(&[key], message))?;
        Ok(())
    }
}

/// Its line in the drawn tree.
pub(super) fn lines(disk: &DiskSpec) -> Vec<String> {
    let surface = Surface::new(disk);
    let options = &disk.seek.options;
    let SeekSettle { write_settle_ms: settle } = options.read();
    let seeks = match disk.seek.curve {
        SeekCurve::ThreePoints => {
            let SeekTimes {
                read_track_ms,
                read_average_ms,
                read_full_ms,
                write_track_ms,
                write_average_ms,
                write_full_ms,
            } = options.read();
            format!(
                "seeks: next track {read_track_ms} ms, mean {read_average_ms}, full {read_full_ms} to read; \
                 {write_track_ms}, {write_average_ms}, {write_full_ms} to write"
            )
        }
        SeekCurve::TwoPieces => format!("seeks: a root and a line; writes {settle} ms more"),
        SeekCurve::Table => {
            let points = options.read::<SeekPoints>().points.0.len() / 2;
            format!("seeks: {points} points; writes {settle} ms more")
        }
    };
    let cache = match disk.write_cache_mib {
        0.0 => "writes complete on the platter".to_owned(),
        mib => format!("{mib} MiB of write cache"),
    };
    vec![
        format!(
            "{} revolutions a minute; {} heads × {} cylinders; {} KiB pages",
            disk.rpm,
            disk.heads,
            surface.cylinders(),
            disk.page_kib
        ),
        format!("{} zones from {} MB/s to {} MB/s", disk.zones, disk.rate_outer_mb_s, disk.rate_inner_mb_s),
        seeks,
        format!("scheduler {} over {} commands; {cache}", disk.scheduler, disk.queue_depth),
    ]
}
