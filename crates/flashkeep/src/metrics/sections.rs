//! The sections of a summary: its JSON is an interface for scripts.

use super::conditioned::Conditioning;
use super::counts::{BufferHits, Operations, Utilization, WriteAmplification};
use super::disk::DiskActivity;
use super::economy::Economy;
use super::energy::Energy;
use super::errors::ErrorFigures;
use super::flows::{FlowFigures, VolumeFigures};
use super::handles::HandleFigures;
use super::histogram::TimesByOperation;
use super::latency::LatencyByOperation;
use super::members::Member;
use super::phases::PhaseFigures;
use super::rebuilds::Rebuild;
use super::wear::Wear;
use super::wear_out::WearOut;
use super::{IfAny, figures, plain, unit};
use serde_json::Value;

figures! {
    /// The report of a run: `summary.json`.
    pub struct Summary {
        /// Version of this format.
        schema: u64 => plain().derived(),
        /// Version of flashkeep.
        flashkeep: &'static str => plain().derived(),
        /// Seed of the random streams.
        seed: u64 => plain(),
        /// SHA-256 over the times of all requests and all figures that are part of it.
        digest: String => plain().derived(),
        /// The resolved drive: the keys that have an effect, with defaults.
        drive: Value => plain().derived(),
        /// Bytes that the host can use.
        capacity_bytes: u64 => unit("bytes").higher(),
        /// Data that the DRAM holds, of all drives of an array together; 0 if it passes writes through.
        dram_bytes: u64 => unit("bytes").derived(),
        /// How the drive starts, in words.
        start: String => plain().derived(),
        /// The workload.
        workload: Workload => plain(),
        /// Simulated time in which requests were counted; none if nothing took time and requests have no arrivals.
        simulated_s: Option<f64> => unit("s"),
        /// Remarks on figures that could mislead.
        warnings: Vec<String> => plain().derived(),
        /// Response times, from the arrival of a request to its acknowledgement.
        response_us: TimesByOperation => plain().heading("Response time, µs"),
        /// Service times, from the first grant of a resource to completion, without waiting in between.
        service_us: TimesByOperation => plain(),
        /// Where response times went; none for untimed runs, and if that was not measured.
        latency_us: Option<LatencyByOperation> => plain().derived().heading("Where the time goes, mean, µs"),
        /// Requests that had arrived and were not done.
        queue: Queue => plain(),
        /// Work done in each simulated second.
        throughput: Throughput => plain().heading("Throughput"),
        /// Flash operations in pages (erases: blocks) by kind and cause.
        operations: Operations => plain(),
        /// Bytes programmed for each byte that the host wrote; none without writes.
        waf_bytes: Option<f64> => unit("ratio").lower().derived().heading("Write amplification")
            .row_always("write amplification in bytes"),
        /// Pages programmed for each page that the host wrote.
        write_amplification: WriteAmplification => plain().heading("Write amplification"),
        /// Hits and misses of the DRAM.
        buffer: BufferHits => plain(),
        /// How the flash has worn; none for a disk.
        wear: Option<Wear> => plain().heading("Wear and use"),
        /// How busy channels and dies were; none for a disk.
        utilization: Option<Utilization> => plain().heading("Wear and use"),
        /// The share of the pages that hold valid data at the end.
        fill: Option<f64> => unit("share"),
        /// Reads of pages that were never written, or were trimmed, which cost no flash time.
        unmapped_reads: u64 => unit("pages"),
        /// Reads served from the controller's memory because the page was on its way to the flash.
        reads_from_memory: u64 => unit("pages").higher(),
        /// The members of an array, or the parts of a drive that its redundancy works across.
        members: Vec<Member> => plain(),
        /// Whether contents were right, and what failures cost.
        integrity: Integrity => plain().heading("Integrity"),
        /// The redundancy and what it takes of the flash.
        redundancy: Redundancy => plain().heading("Redundancy"),
        /// The run before, during and after each failure.
        phases: Vec<PhaseFigures> => plain(),
        /// Rebuilds, in order.
        rebuilds: Vec<Rebuild> => plain().derived(),
        /// The volumes of an array that have a workload each, in order; none if one workload has the whole array.
        volumes: Vec<VolumeFigures> => plain().derived(),
        /// Workloads beside each other (`--flow`), in order; none if there is one workload.
        flows: Vec<FlowFigures> => plain().derived(),
        /// The smallest slowdown of a flow over the largest; none without `--alone`.
        fairness: Option<f64> => unit("ratio").higher().derived(),
        /// Data of each placement handle; only with several (`ftl.handles`).
        handles: IfAny<Vec<HandleFigures>> => plain(),
        /// How often planes worked together and cache registers overlapped; only with such commands.
        commands: IfAny<Commands> => plain().heading("Several at once"),
        /// How full flash pages were that hold several logical pages; only with such pages.
        packing: IfAny<Packing> => plain().heading("Write amplification"),
        /// The SLC cache; only of drives that have one.
        slc_cache: IfAny<SlcCacheFigures> => plain().heading("SLC cache"),
        /// How logical pages were found; only with maps other than a page map in memory.
        mapping: IfAny<MappingFigures> => plain().heading("Map"),
        /// Reads that did not wait for a busy part; only with `redundancy.read` other than `plain`.
        reads_around: IfAny<ReadsAround> => plain().heading("Reads around busy parts"),
        /// Collections of members in turns; only with `ftl.gc.turn_ms`.
        gc_turns: IfAny<GcTurnFigures> => plain().heading("Reads around busy parts"),
    }
}

figures! {
    /// The sections of a summary after those of the scheme.
    pub struct Rest {
        /// How the drive was conditioned; only if it was.
        conditioning: IfAny<Conditioning> => plain().heading("Before time 0"),
        /// True if nothing took time; left out otherwise.
        untimed: IfAny<bool> => plain(),
        /// True if the run was interrupted and its figures are of the requests until then; left out otherwise.
        interrupted: IfAny<bool> => plain().derived(),
        /// What was asked of the drive and what it did; only if it could not carry the trace.
        saturation: IfAny<Saturation> => plain().derived(),
        /// Errors of flash; only with an error model.
        errors: IfAny<ErrorFigures> => plain().heading("Errors of flash"),
        /// Energy; none if the drive file gives no currents or powers.
        energy: Option<Energy> => plain().derived().heading("Energy"),
        /// Cost and life; only for arrays and for drives with a price.
        economy: IfAny<Economy> => plain().derived().heading("Money and life"),
        /// How far apart members wear out; only for arrays whose members have erase budgets.
        wear_out: IfAny<WearOut> => plain().derived().heading("Wear and use"),
        /// Operations of a disk, and its time by activity; only for a lone disk.
        disk: IfAny<DiskActivity> => plain().derived(),
        /// The options that the results follow from, as given: drive, traces, `set`, faults, the events of a scenario.
        options: IfAny<Value> => plain().derived(),
        /// The command line as typed; none for runs from Python.
        command: IfAny<Option<String>> => plain().derived(),
        /// Values of the resolved drive that differ from its preset, or from its file if that has no preset as its base:
        /// the value there, and here.
        drive_changes: IfAny<Value> => plain().derived(),
        /// Time and memory that the run took on this machine. Only this section and `command` differ between equal
        /// runs.
        run: IfAny<Machine> => plain().derived(),
    }
}

figures! {
    /// The workload.
    pub struct Workload {
        /// Its path, or the text of a synthetic workload.
        name: String => plain().derived(),
        /// The format of the trace.
        format: String => plain(),
        /// Whether it was generated rather than recorded.
        synthetic: bool => plain(),
        /// Requests, warm-up included.
        requests: u64 => unit("requests"),
        /// Reads.
        reads: u64 => unit("requests"),
        /// Writes.
        writes: u64 => unit("requests"),
        /// Trims.
        trims: u64 => unit("requests"),
        /// Flushes.
        flushes: u64 => unit("requests").derived(),
        /// Writes that must be durable before they are acknowledged (FUA).
        fua_writes: u64 => unit("requests").derived(),
        /// Bytes read.
        bytes_read: u64 => unit("bytes"),
        /// Bytes written.
        bytes_written: u64 => unit("bytes"),
        /// Time from the first arrival to the last.
        span_s: f64 => unit("s"),
        /// Records that could not be read and were skipped.
        skipped: u64 => unit("records").lower(),
        /// Requests whose address was taken modulo the capacity.
        overlapping: u64 => unit("requests").lower(),
        /// SHA-256 of the bytes of the trace file, as stored, or of the text of a synthetic workload; of several, SHA-256
        /// over theirs in hexadecimal, a line each. None for a part (`--limit`) of a stream or of more than 1 GiB.
        sha256: Option<String> => plain().derived(),
    }
}

figures! {
    /// Requests that had arrived and were not done.
    pub struct Queue {
        /// Mean number of such requests.
        mean: Option<f64> => unit("requests").lower(),
        /// Largest number of such requests.
        max: Option<usize> => unit("requests").lower(),
        /// The share of the time in which requests waited because the host queue was full.
        full: Option<f64> => unit("share").lower().derived(),
    }
}

figures! {
    /// Work done in each simulated second.
    pub struct Throughput {
        /// Requests done in a second.
        iops: Option<f64> => unit("requests/s").higher().row("requests a second"),
        /// MiB read in a second.
        read_mib_s: Option<f64> => unit("MiB/s").higher().row("read, MiB/s"),
        /// MiB written in a second.
        write_mib_s: Option<f64> => unit("MiB/s").higher().row("written, MiB/s"),
    }
}

figures! {
    /// A drive that cannot keep up with its trace: response times grow with the length of the trace.
    pub struct Saturation {
        /// Reads and writes that arrived in a second.
        offered_iops: f64 => unit("requests/s"),
        /// Reads and writes that the drive did in a second.
        reached_iops: f64 => unit("requests/s").higher(),
        /// Time that it was busy after the last arrival.
        busy_after_s: f64 => unit("s").lower(),
    }
}

figures! {
    /// Whether contents were right, and what failures and power cuts cost.
    pub struct Integrity {
        /// Page reads of requests whose contents were compared with what was written (`--verify`).
        checked_reads: u64 => unit("reads").row("reads checked"),
        /// Pages compared when all were read back after the last request of a run with failures, which no other figure
        /// counts.
        pages_read_back: u64 => unit("pages").derived().row("pages read back and checked"),
        /// Reads, also those at the end, that returned something else.
        wrong_reads: u64 => unit("reads").lower().row("reads wrong"),
        /// Pages lost, each counted once.
        lost_pages: u64 => unit("pages").lower().row("pages lost"),
        /// Page reads of a failed part that another copy or parity served.
        reconstructed_reads: u64 => unit("pages").lower().row("reads reconstructed"),
        /// Pages that one more failure would have cost, times how long; none without redundancy.
        unprotected_page_s: Option<f64> => unit("page·s").lower().row("unprotected page-seconds"),
        /// Time from the last failure until full redundancy; none if it was not reached.
        time_to_full_redundancy_s: Option<f64> => unit("s").lower().row("until redundant again, s"),
        /// Power cuts.
        power_cuts: usize => unit("cuts").row("power cuts"),
        /// Requests under way at a power cut that were not acknowledged.
        interrupted_requests: u64 => unit("requests").lower().row("requests interrupted"),
        /// Acknowledged pages whose newest version was in volatile memory at a power cut.
        volatile_pages_lost: u64 => unit("pages").lower().row("acknowledged pages lost from DRAM"),
        /// Time from each power cut until requests were accepted again.
        recovery_us: Vec<f64> => unit("µs").lower().row("  until requests were accepted again, µs"),
        /// Pages read to restore the map.
        recovery_reads: u64 => unit("pages").lower().row("  pages read to find the map"),
        /// Blocks whose erase was started again.
        recovery_erases: u64 => unit("erases").lower(),
    }
}

figures! {
    /// The redundancy and what it takes of the flash.
    pub struct Redundancy {
        /// The scheme.
        scheme: String => plain(),
        /// Members in use.
        members: u32 => unit("members"),
        /// Hot spares.
        spares: u32 => unit("members"),
        /// Failures that it survives for certain.
        survives: u32 => unit("failures").higher().row("failures survived"),
        /// What fails: a member, or a part of a drive.
        unit: &'static str => plain(),
        /// The share of the flash that the host can use.
        capacity_share: Option<f64> => unit("share").higher().row("share of the flash that the host can use"),
    }
}

figures! {
    /// How often planes worked together and cache registers overlapped.
    pub struct Commands {
        /// Multi-plane operations.
        multi_plane: MultiPlane => plain(),
        /// Operations through a cache register.
        cache: CacheCommands => plain(),
        /// Operations that were suspended for reads.
        suspended: IfAny<Suspensions> => plain(),
        /// Pages left unprogrammed so that planes stay at the same offset.
        wasted_pages: u64 => unit("pages").lower().row("pages left out for them"),
    }
}

figures! {
    /// How often operations were suspended for reads.
    pub struct Suspensions {
        /// Suspensions of programs and copybacks.
        program: u64 => unit("suspensions").row("programs suspended for reads"),
        /// Suspensions of erases.
        erase: u64 => unit("suspensions").row("erases suspended for reads"),
    }
}

figures! {
    /// Multi-plane operations.
    pub struct MultiPlane {
        /// Multi-plane reads.
        read: u64 => unit("operations").row("multi-plane reads"),
        /// Multi-plane programs.
        program: u64 => unit("operations").row("multi-plane programs"),
        /// Multi-plane erases.
        erase: u64 => unit("operations").row("multi-plane erases"),
    }
}

figures! {
    /// Operations through a cache register.
    pub struct CacheCommands {
        /// Reads through a cache register.
        read: u64 => unit("operations").row("reads through a cache register"),
        /// Programs through a cache register.
        program: u64 => unit("operations").row("programs through a cache register"),
    }
}

figures! {
    /// How full programs of several logical pages were.
    pub struct Packing {
        /// Logical pages that a flash page holds.
        places: u32 => unit("pages"),
        /// Places that were left empty.
        empty_places: u64 => unit("pages").lower(),
        /// The share of the places of programs that held a page.
        filled: Option<f64> => unit("share").higher().row("places filled").derived(),
        /// Whole flash pages.
        flash_pages: FlashPages => plain(),
        /// Word lines of several flash pages that were programmed, each at once.
        word_lines: IfAny<u64> => unit("word lines").lower().row("word lines programmed"),
    }
}

figures! {
    /// Operations on whole flash pages.
    pub struct FlashPages {
        /// Flash pages read.
        read: u64 => unit("pages").lower().row("flash pages read"),
        /// Flash pages programmed.
        program: u64 => unit("pages").lower().row("flash pages programmed"),
    }
}

figures! {
    /// The SLC cache.
    pub struct SlcCacheFigures {
        /// Pages programmed in the cache.
        written: u64 => unit("pages").higher().row("pages written to the SLC cache"),
        /// Pages written past it because it had no room.
        bypassed: u64 => unit("pages").lower().row("pages written past it"),
        /// The share of the pages written that it took.
        share: Option<f64> => unit("share").higher().row("  share that it took"),
        /// Pages moved out of it.
        folded: u64 => unit("pages").lower().row("pages folded"),
        /// Pages overwritten or trimmed before their block was folded, so that they were not moved.
        died: u64 => unit("pages").higher().row("pages dead before that"),
        /// Erases of its blocks, which are not among those in `wear`.
        erases: u64 => unit("erases").lower().row("erases of its blocks"),
    }
}

figures! {
    /// Reads of pages that can be read in several ways, and were not, or not only, read where the scheme chooses.
    pub struct ReadsAround {
        /// Pages that were read from another copy, or reconstructed, because their place was busy (`around-busy`).
        redirected: u64 => unit("pages").row("reads around busy parts"),
        /// Pages that were read a second time in another way, because the first read took long; only with `hedge=…`.
        hedged: IfAny<u64> => unit("pages").row("reads hedged"),
        /// Pages of which the second read came first; only with `hedge=…`.
        hedge_won: IfAny<u64> => unit("pages").row("  second read first"),
        /// Page reads that this took beyond those that it saved.
        extra_reads: u64 => unit("pages").lower().row("  extra page reads"),
        /// Those of them that were for old contents of pages written in part.
        extra_update_reads: u64 => unit("pages").lower(),
    }
}

figures! {
    /// Collections of members that take turns.
    pub struct GcTurnFigures {
        /// Collections that ended in the turn of their member.
        in_turn: u64 => unit("collections").row("collections in turn"),
        /// Collections that could not wait for it, because writes were about to wait for them.
        out_of_turn: u64 => unit("collections").lower().row("collections out of turn"),
    }
}

figures! {
    /// How logical pages were found.
    pub struct MappingFigures {
        /// The map.
        map: &'static str => plain(),
        /// Lookups whose entry was in memory.
        hits: u64 => unit("lookups").higher().row("entries found in memory"),
        /// Lookups whose entry had to be read from the flash.
        misses: u64 => unit("lookups").lower().row("entries not there"),
        /// Misses as a share of all lookups.
        miss_rate: Option<f64> => unit("share").lower().row("  share"),
        /// Entries evicted from memory.
        evictions: u64 => unit("entries").lower(),
        /// Translation pages written because an evicted entry had changed.
        write_backs: u64 => unit("pages").lower().row("translation pages written back"),
        /// Translation pages written because garbage collection moved pages whose entries were not in memory.
        moved_updates: u64 => unit("pages").lower().row("  for pages that were moved"),
        /// Log blocks that became data blocks without a copy.
        switch_merges: u64 => unit("merges").row("switch merges"),
        /// Log blocks that became data blocks after the rest was copied.
        partial_merges: u64 => unit("merges").lower().row("partial merges"),
        /// Blocks merged from several blocks.
        full_merges: u64 => unit("merges").lower().row("full merges"),
    }
}

figures! {
    /// Time and memory that the run took on this machine.
    pub struct Machine {
        /// Time on the wall clock.
        wall_s: f64 => unit("s").lower(),
        /// Requests simulated in a second.
        requests_per_s: f64 => unit("requests/s").higher(),
        /// Pages read, programmed and copied in a second.
        page_operations_per_s: f64 => unit("pages/s").higher(),
        /// Most memory in use.
        peak_rss_mib: f64 => unit("MiB").lower(),
        /// Threads that simulated.
        threads: u64 => unit("threads"),
    }
}
