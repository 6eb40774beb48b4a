//! The place of a sector: zone, cylinder, track, and the position along the one stream that all sectors form.
//!
//! A disk read from its first sector to its last is read without interruption: the tracks of a cylinder
//! follow each other a head switch apart, cylinders a track switch apart. The time to a sector *along* this
//! stream also gives the sector's position on its track: modulo a revolution, it is the time at which the
//! sector passes the head.

use crate::disk::{DISK_SECTOR_BYTES, DiskSpec};

/// Tracks of equal length that follow each other.
#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u32,
    sectors_per_track: u64,
    /// When its first sector passes, ns.
    along: u64,
}

/// The geometry of a disk.
#[derive(Clone, Debug)]
pub struct Surface {
    zones: Vec<Zone>,
    heads: u64,
    revolution: u64,
    head_switch: u64,
    track_switch: u64,
    cylinders: u32,
    used: u32,
}

/// Where a sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorPlace {
    /// Its cylinder, from the outermost.
    pub cylinder: u32,
    /// Its track on it.
    pub head: u32,
    /// When it passes the head, ns: see above.
    pub along: u64,
}

/// What fits into a revolution.
#[must_use]
pub fn sectors_of(rate_mb_s: f64, rpm: u32) -> u64 {
    (rate_mb_s * 1e6 * 60.0 / f64::from(rpm) / f64::from(DISK_SECTOR_BYTES)) as u64
}

impl Surface {
    /// The geometry of a disk; more cylinders than it says where its sectors need them.
    #[must_use]
    pub fn new(disk: &DiskSpec) -> Self {
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        let (sectors, count, heads) = (disk.sectors(), u64::from(disk.zones), u64::from(disk.heads));
        let mut this = Surface {
            zones: Vec::new(),
            heads,
            revolution: (60e9 / f64::from(disk.rpm)).round() as u64,
            head_switch: ns(disk.head_switch_ms),
            track_switch: ns(disk.track_switch_ms),
            cylinders: 0,
            used: 0,
        };
        let (mut first, mut along) = (0, 0);
        for zone in 0..count {
            let inwards = if count == 1 { 0.0 } else { zone as f64 / (count - 1) as f64 };
            let rate = disk.rate_outer_mb_s + (disk.rate_inner_mb_s - disk.rate_outer_mb_s) * inwards;
            let sectors_per_track = sectors_of(rate, disk.rpm).max(1);
            let end = (u128::from(sectors) * u128::from(zone + 1) / u128::from(count)) as u64;
            let cylinders = end.saturating_sub(first).div_ceil(sectors_per_track * heads);
            if cylinders > 0 {
                this.zones.push(Zone {
                    first_sector: first,
                    first_cylinder: this.used,
                    sectors_per_track,
                    along,
                });
                this.used += cylinders as u32;
                first += cylinders * heads * sectors_per_track;
                along = this.end_of(first - 1) + this.track_switch;
            }
        }
        this.cylinders = disk.cylinders.unwrap_or(this.used);
        this
    }

    fn zone(&self, sector: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1]
    }

    /// Where a sector is.
    #[must_use]
    pub fn place(&self, sector: u64) -> SectorPlace {
        let zone = self.zone(sector);
        let within = sector - zone.first_sector;
        let (track, on_track) = (within / zone.sectors_per_track, within % zone.sectors_per_track);
        let cylinders = track / self.heads;
        let along = track * self.revolution
            + (track - cylinders) * self.head_switch
            + cylinders * self.track_switch
            + on_track * self.revolution / zone.sectors_per_track;
        SectorPlace {
            cylinder: zone.first_cylinder + cylinders as u32,
            head: (track % self.heads) as u32,
            along: zone.along + along,
        }
    }

    /// When the end of a sector passes the head, ns.
    #[must_use]
    pub fn end_of(&self, sector: u64) -> u64 {
        let zone = self.zone(sector);
        let on_track = (sector - zone.first_sector) % zone.sectors_per_track;
        let since = |place: u64| place * self.revolution / zone.sectors_per_track;
        self.place(sector).along + since(on_track + 1) - since(on_track)
    }

    /// The time from the instant `now` until the position `along` passes the head.
    #[must_use]
    pub fn wait(&self, now: u64, along: u64) -> u64 {
        (along % self.revolution + self.revolution - now % self.revolution) % self.revolution
    }

    /// A revolution, ns.
    #[must_use]
    pub fn revolution(&self) -> u64 {
        self.revolution
    }

    /// From one track of a cylinder to another, ns.
    #[must_use]
    pub fn head_switch(&self) -> u64 {
        self.head_switch
    }

    /// Sectors of the track that a sector is on.
    #[must_use]
    pub fn sectors_of_track(&self, sector: u64) -> u64 {
        self.zone(sector).sectors_per_track
    }

    /// Cylinders that hold anything.
    #[must_use]
    pub fn used_cylinders(&self) -> u32 {
        self.used
    }

    /// Cylinders.
    #[must_use]
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }
}
