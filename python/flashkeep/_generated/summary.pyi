"""The types of a run's figures, generated from the registry of figures: python -m flashkeep.registry"""

from ..results.tree_view import Figures, Node

class Summary(Node):
    """What a run reports."""

    @property
    def schema(self) -> int:
        """Version of this format."""
    @property
    def flashkeep(self) -> str:
        """Version of flashkeep."""
    @property
    def seed(self) -> int:
        """Seed of the random streams."""
    @property
    def digest(self) -> str:
        """SHA-256 over the times of all requests and all figures that are part of it."""
    @property
    def drive(self) -> Figures:
        """The resolved drive: the keys that have an effect, with defaults."""
    @property
    def capacity_bytes(self) -> int:
        """Bytes that the host can use. (bytes, higher is better)"""
    @property
    def dram_bytes(self) -> int:
        """Data that the DRAM holds, of all drives of an array together; 0 if it passes writes through. (bytes)"""
    @property
    def start(self) -> str:
        """How the drive starts, in words."""
    @property
    def workload(self) -> Workload:
        """The workload."""
    @property
    def simulated_s(self) -> float | None:
        """Simulated time in which requests were counted; none if nothing took time and requests have no arrivals. (s)"""
    @property
    def warnings(self) -> list[str]:
        """Remarks on figures that could mislead."""
    @property
    def response_us(self) -> TimesByOperation:
        """Response times, from the arrival of a request to its acknowledgement."""
    @property
    def service_us(self) -> TimesByOperation:
        """Service times, from the first grant of a resource to completion, without waiting in between."""
    @property
    def latency_us(self) -> LatencyByOperation:
        """Where response times went; none for untimed runs, and if that was not measured."""
    @property
    def queue(self) -> Queue:
        """Requests that had arrived and were not done."""
    @property
    def throughput(self) -> Throughput:
        """Work done in each simulated second."""
    @property
    def operations(self) -> Operations:
        """Flash operations in pages (erases: blocks) by kind and cause."""
    @property
    def waf_bytes(self) -> float | None:
        """Bytes programmed for each byte that the host wrote; none without writes. (ratio, lower is better)"""
    @property
    def write_amplification(self) -> WriteAmplification:
        """Pages programmed for each page that the host wrote."""
    @property
    def buffer(self) -> BufferHits:
        """Hits and misses of the DRAM."""
    @property
    def wear(self) -> Wear:
        """How the flash has worn; none for a disk."""
    @property
    def utilization(self) -> Utilization:
        """How busy channels and dies were; none for a disk."""
    @property
    def fill(self) -> float | None:
        """The share of the pages that hold valid data at the end. (share)"""
    @property
    def unmapped_reads(self) -> int:
        """Reads of pages that were never written, or were trimmed, which cost no flash time. (pages)"""
    @property
    def reads_from_memory(self) -> int:
        """Reads served from the controller's memory because the page was on its way to the flash. (pages, higher is better)"""
    @property
    def members(self) -> list[Member]:
        """The members of an array, or the parts of a drive that its redundancy works across."""
    @property
    def integrity(self) -> Integrity:
        """Whether contents were right, and what failures cost."""
    @property
    def redundancy(self) -> Redundancy:
        """The redundancy and what it takes of the flash."""
    @property
    def phases(self) -> list[Phase]:
        """The run before, during and after each failure."""
    @property
    def rebuilds(self) -> list[Rebuild]:
        """Rebuilds, in order."""
    @property
    def volumes(self) -> list[Volume]:
        """The volumes of an array that have a workload each, in order; none if one workload has the whole array."""
    @property
    def flows(self) -> list[Flow]:
        """Workloads beside each other (`--flow`), in order; none if there is one workload."""
    @property
    def fairness(self) -> float | None:
        """The smallest slowdown of a flow over the largest; none without `--alone`. (ratio, higher is better)"""
    @property
    def handles(self) -> list[Handle]:
        """Data of each placement handle; only with several (`ftl.handles`)."""
    @property
    def commands(self) -> Commands:
        """How often planes worked together and cache registers overlapped; only with such commands."""
    @property
    def packing(self) -> Packing:
        """How full flash pages were that hold several logical pages; only with such pages."""
    @property
    def slc_cache(self) -> SlcCache:
        """The SLC cache; only of drives that have one."""
    @property
    def mapping(self) -> Mapping:
        """How logical pages were found; only with maps other than a page map in memory."""
    @property
    def reads_around(self) -> ReadsAround:
        """Reads that did not wait for a busy part; only with `redundancy.read` other than `plain`."""
    @property
    def gc_turns(self) -> GcTurn:
        """Collections of members in turns; only with `ftl.gc.turn_ms`."""
    @property
    def chained(self) -> Chained:
        """Figures of chained declustering; only with the scheme `chained`."""
    @property
    def backup(self) -> Backup:
        """Figures of disks that back up SSDs; only with the scheme `backup`."""
    @property
    def conditioning(self) -> Conditioning:
        """How the drive was conditioned; only if it was."""
    @property
    def untimed(self) -> bool | None:
        """True if nothing took time; left out otherwise."""
    @property
    def interrupted(self) -> bool | None:
        """True if the run was interrupted and its figures are of the requests until then; left out otherwise."""
    @property
    def saturation(self) -> Saturation:
        """What was asked of the drive and what it did; only if it could not carry the trace."""
    @property
    def errors(self) -> Error:
        """Errors of flash; only with an error model."""
    @property
    def energy(self) -> Energy:
        """Energy; none if the drive file gives no currents or powers."""
    @property
    def economy(self) -> Economy:
        """Cost and life; only for arrays and for drives with a price."""
    @property
    def wear_out(self) -> WearOut:
        """How far apart members wear out; only for arrays whose members have erase budgets."""
    @property
    def disk(self) -> DiskActivity:
        """Operations of a disk, and its time by activity; only for a lone disk."""
    @property
    def options(self) -> Figures:
        """The options that the results follow from, as given: drive, traces, `set`, faults, the events of a scenario."""
    @property
    def command(self) -> str | None:
        """The command line as typed; none for runs from Python."""
    @property
    def drive_changes(self) -> Figures:
        """Values of the resolved drive that differ from its preset, or from its file if that has no preset as its base: the value there, and here."""
    @property
    def run(self) -> Machine:
        """Time and memory that the run took on this machine. Only this section and `command` differ between equal runs."""

class Workload(Node):
    """The workload."""

    @property
    def name(self) -> str:
        """Its path, or the text of a synthetic workload."""
    @property
    def format(self) -> str:
        """The format of the trace."""
    @property
    def synthetic(self) -> bool:
        """Whether it was generated rather than recorded."""
    @property
    def requests(self) -> int:
        """Requests, warm-up included. (requests)"""
    @property
    def reads(self) -> int:
        """Reads. (requests)"""
    @property
    def writes(self) -> int:
        """Writes. (requests)"""
    @property
    def trims(self) -> int:
        """Trims. (requests)"""
    @property
    def flushes(self) -> int:
        """Flushes. (requests)"""
    @property
    def fua_writes(self) -> int:
        """Writes that must be durable before they are acknowledged (FUA). (requests)"""
    @property
    def bytes_read(self) -> int:
        """Bytes read. (bytes)"""
    @property
    def bytes_written(self) -> int:
        """Bytes written. (bytes)"""
    @property
    def span_s(self) -> float:
        """Time from the first arrival to the last. (s)"""
    @property
    def skipped(self) -> int:
        """Records that could not be read and were skipped. (records, lower is better)"""
    @property
    def overlapping(self) -> int:
        """Requests whose address was taken modulo the capacity. (requests, lower is better)"""
    @property
    def sha256(self) -> str | None:
        """SHA-256 of the bytes of the trace file, as stored, or of the text of a synthetic workload; of several, SHA-256 over theirs in hexadecimal, a line each. None for a part (`--limit`) of a stream or of more than 1 GiB."""

class TimesByOperation(Node):
    """Times of requests by operation."""

    @property
    def all(self) -> Times:
        """Reads, writes and trims together."""
    @property
    def read(self) -> Times:
        """Reads."""
    @property
    def write(self) -> Times:
        """Writes and trims."""
    @property
    def flush(self) -> Times:
        """Flushes; left out without them."""

class Times(Node):
    """How the times of requests are distributed."""

    @property
    def count(self) -> int | None:
        """Requests counted. (requests)"""
    @property
    def mean(self) -> float | None:
        """Mean, which is exact. (µs, lower is better)"""
    @property
    def min(self) -> float | None:
        """Shortest time. (µs, lower is better)"""
    @property
    def p50(self) -> float | None:
        """Median. (µs, lower is better)"""
    @property
    def p90(self) -> float | None:
        """Time that 90 % of the requests do not exceed. (µs, lower is better)"""
    @property
    def p95(self) -> float | None:
        """Time that 95 % of the requests do not exceed. (µs, lower is better)"""
    @property
    def p99(self) -> float | None:
        """Time that 99 % of the requests do not exceed. (µs, lower is better)"""
    @property
    def p99_9(self) -> float | None:
        """Time that 99.9 % of the requests do not exceed. (µs, lower is better)"""
    @property
    def p99_99(self) -> float | None:
        """Time that 99.99 % of the requests do not exceed; none for fewer than 10,000 requests. (µs, lower is better)"""
    @property
    def max(self) -> float | None:
        """Longest time. (µs, lower is better)"""

class LatencyByOperation(Node):
    """Where response times went, by operation."""

    @property
    def read(self) -> LatencyMeans:
        """Reads."""
    @property
    def write(self) -> LatencyMeans:
        """Writes and trims."""

class LatencyMeans(Node):
    """Where the response times of an operation went."""

    @property
    def mean(self) -> PartTimes:
        """The mean of all requests."""
    @property
    def slowest(self) -> PartTimes:
        """The mean of the slowest 1 % of them, at least one; requests within 1.6 % of the limit count as equally slow."""

class PartTimes(Node):
    """A time divided by what requests waited for or did. The parts add up to it."""

    @property
    def queue(self) -> float | None:
        """Waiting for a slot in the host queue, which is full. (µs, lower is better)"""
    @property
    def cache(self) -> float | None:
        """Access to DRAM and NVRAM. (µs, lower is better)"""
    @property
    def buffer(self) -> float | None:
        """Waiting for an eviction from a write cache, or for room in NVRAM or in a log. (µs, lower is better)"""
    @property
    def lock(self) -> float | None:
        """Waiting for another plan that holds the stripe or the page. (µs, lower is better)"""
    @property
    def timer(self) -> float | None:
        """Deliberate delays. (µs, lower is better)"""
    @property
    def compute(self) -> float | None:
        """Parity computation and decoding. (µs, lower is better)"""
    @property
    def die(self) -> float | None:
        """Waiting for a die that served other host work. (µs, lower is better)"""
    @property
    def channel(self) -> float | None:
        """Waiting for a channel that served other host work. (µs, lower is better)"""
    @property
    def array(self) -> float | None:
        """The operation's own sensing, programming or erasing. (µs, lower is better)"""
    @property
    def transfer(self) -> float | None:
        """The operation's own commands and data on the channel. (µs, lower is better)"""
    @property
    def disk(self) -> float | None:
        """Disks: waiting for the arm, seek, rotation and transfer. (µs, lower is better)"""
    @property
    def gc(self) -> float | None:
        """Waiting for garbage collection. (µs, lower is better)"""
    @property
    def maintenance(self) -> float | None:
        """Waiting for wear leveling, migration, and the drive's own tables, such as map fetches. (µs, lower is better)"""
    @property
    def rebuild(self) -> float | None:
        """Waiting for a rebuild. (µs, lower is better)"""
    @property
    def retry(self) -> float | None:
        """Repeated sensing. (µs, lower is better)"""
    @property
    def link(self) -> float | None:
        """Waiting for links and crossing them. (µs, lower is better)"""

class Queue(Node):
    """Requests that had arrived and were not done."""

    @property
    def mean(self) -> float | None:
        """Mean number of such requests. (requests, lower is better)"""
    @property
    def max(self) -> int | None:
        """Largest number of such requests. (requests, lower is better)"""
    @property
    def full(self) -> float | None:
        """The share of the time in which requests waited because the host queue was full. (share, lower is better)"""

class Throughput(Node):
    """Work done in each simulated second."""

    @property
    def iops(self) -> float | None:
        """Requests done in a second. (requests/s, higher is better)"""
    @property
    def read_mib_s(self) -> float | None:
        """MiB read in a second. (MiB/s, higher is better)"""
    @property
    def write_mib_s(self) -> float | None:
        """MiB written in a second. (MiB/s, higher is better)"""

class Operations(Node):
    """Operations by kind and cause."""

    @property
    def read(self) -> OperationsByCause:
        """Pages read, by cause."""
    @property
    def program(self) -> OperationsByCause:
        """Pages programmed, by cause."""
    @property
    def erase(self) -> OperationsByCause:
        """Blocks erased, by cause."""
    @property
    def copyback(self) -> OperationsByCause:
        """Pages copied inside their plane, by cause."""

class OperationsByCause(Node):
    """Operations of one kind by cause."""

    @property
    def host(self) -> int:
        """Pages read for the host. (pages, lower is better)"""
    @property
    def mirror(self) -> int:
        """Pages read for second and later copies. (pages, lower is better)"""
    @property
    def update(self) -> int:
        """Pages read to complete pages that are written in part. (pages, lower is better)"""
    @property
    def gc(self) -> int:
        """Pages read by garbage collection. (pages, lower is better)"""
    @property
    def wear(self) -> int:
        """Pages read by wear leveling. (pages, lower is better)"""
    @property
    def parity(self) -> int:
        """Pages read for parity. (pages, lower is better)"""
    @property
    def parity_gc(self) -> int:
        """Pages read for parity that garbage collection writes again. (pages, lower is better)"""
    @property
    def partial_parity(self) -> int:
        """Pages read for the parity of stripes that are not full. (pages, lower is better)"""
    @property
    def rebuild(self) -> int:
        """Pages read by a rebuild. (pages, lower is better)"""
    @property
    def migrate(self) -> int:
        """Pages read to move data between media. (pages, lower is better)"""
    @property
    def metadata(self) -> int:
        """Pages read for the tables of the drive. (pages, lower is better)"""
    @property
    def fold(self) -> int:
        """Pages read to empty the SLC cache. (pages, lower is better)"""
    @property
    def retry(self) -> int:
        """Pages read of pages whose data could not be corrected before. (pages, lower is better)"""
    @property
    def refresh(self) -> int:
        """Pages read to move data before they become unreadable. (pages, lower is better)"""
    @property
    def scrub(self) -> int:
        """Pages read to see whether pages can be read. (pages, lower is better)"""

class WriteAmplification(Node):
    """Pages programmed for each page that the host wrote; 1 and the parts add up to the total."""

    @property
    def total(self) -> float | None:
        """Pages programmed for each page that the host wrote. (ratio, lower is better)"""
    @property
    def buffer(self) -> float | None:
        """Host pages programmed beyond one for each page written; negative where the DRAM saved programs. (ratio, lower is better)"""
    @property
    def mirror(self) -> float | None:
        """Second and later copies programmed. (ratio, lower is better)"""
    @property
    def gc(self) -> float | None:
        """Pages programmed by garbage collection. (ratio, lower is better)"""
    @property
    def parity(self) -> float | None:
        """Parity pages programmed. (ratio, lower is better)"""
    @property
    def wear(self) -> float | None:
        """Pages programmed by wear leveling, migration and refresh. (ratio, lower is better)"""
    @property
    def metadata(self) -> float | None:
        """Pages programmed for the tables of the drive. (ratio, lower is better)"""
    @property
    def rebuild(self) -> float | None:
        """Pages programmed by rebuilds. (ratio, lower is better)"""
    @property
    def fold(self) -> float | None:
        """Pages moved out of the SLC cache; only with such pages. (ratio, lower is better)"""
    @property
    def empty(self) -> float | None:
        """Places left empty in programs of several logical pages. (ratio, lower is better)"""

class BufferHits(Node):
    """Hits and misses of the DRAM, in sectors."""

    @property
    def read_hits(self) -> int | None:
        """Sectors of reads that the DRAM held. (sectors, higher is better)"""
    @property
    def read_misses(self) -> int | None:
        """Sectors of reads that had to be read from the media. (sectors, lower is better)"""
    @property
    def write_hits(self) -> int | None:
        """Sectors of writes whose old version the DRAM still held. (sectors, higher is better)"""
    @property
    def write_misses(self) -> int | None:
        """Sectors of writes that were new to the DRAM. (sectors, lower is better)"""

class Wear(Node):
    """Wear of the flash, and its life under this workload."""

    @property
    def erases_total(self) -> int | None:
        """Blocks erased. (erases, lower is better)"""
    @property
    def erases_min(self) -> int | None:
        """Erases of the block that was erased least. (erases)"""
    @property
    def erases_mean(self) -> float | None:
        """Erases of a block, mean. (erases, lower is better)"""
    @property
    def erases_max(self) -> int | None:
        """Erases of the block that was erased most. (erases, lower is better)"""
    @property
    def erases_stddev(self) -> float | None:
        """Standard deviation of the erases over the blocks. (erases, lower is better)"""
    @property
    def lifetime_days_first_block(self) -> float | None:
        """Time until the first block reaches the erase budget if this workload continues, and blocks continue to wear as unevenly as in this run. (days, higher is better)"""
    @property
    def lifetime_days_by_mean(self) -> float | None:
        """Time until all blocks reach the erase budget if this workload continues and wears them evenly. (days, higher is better)"""
    @property
    def lifetime_erases(self) -> float | None:
        """Erases until the first block reaches the erase budget. (erases, higher is better)"""
    @property
    def lifetime_erases_by_mean(self) -> float | None:
        """Erases until all blocks reach the erase budget. (erases, higher is better)"""
    @property
    def tbw(self) -> float | None:
        """Terabytes that the host can write under this workload until the flash has programmed what its erase budget allows, if it wears evenly. In an array: until that of a member. (TB, higher is better)"""
    @property
    def dwpd(self) -> float | None:
        """The same as drive writes a day over the warranty. (1/day, higher is better)"""
    @property
    def workload_dwpd(self) -> float | None:
        """Drive writes a day of this workload. (1/day)"""
    @property
    def lifetime_days(self) -> float | None:
        """Time until the flash has programmed what its erase budget allows, if this workload continues: `tbw` at its bytes a day. (days, higher is better)"""
    @property
    def tbw_first_block(self) -> float | None:
        """Terabytes that the host can write until the first block reaches the erase budget, if blocks continue to wear as unevenly as in this run. (TB, higher is better)"""
    @property
    def dwpd_first_block(self) -> float | None:
        """The same as drive writes a day over the warranty. (1/day, higher is better)"""
    @property
    def remaining_life_mean(self) -> float | None:
        """Erases that a block has left of its budget, mean. (erases, higher is better)"""
    @property
    def remaining_life_stddev(self) -> float | None:
        """Standard deviation of the erases left. (erases, lower is better)"""
    @property
    def expired_blocks(self) -> int | None:
        """Blocks that have reached the erase budget. (blocks, lower is better)"""
    @property
    def first_block_dead_s(self) -> float | None:
        """When the first block reached the erase budget. (s, higher is better)"""
    @property
    def first_block_dead_bytes(self) -> int | None:
        """Bytes that the host had written by then. (bytes, higher is better)"""
    @property
    def first_loss_s(self) -> float | None:
        """When a write was first refused because of wear. (s, higher is better)"""
    @property
    def first_loss_bytes(self) -> int | None:
        """Bytes that the host had written by then. (bytes, higher is better)"""
    @property
    def refused_requests(self) -> int | None:
        """Writes and trims refused from then on. (requests, lower is better)"""
    @property
    def erases_histogram(self) -> list[Bar]:
        """How many blocks were erased how often, in at most 50 bars of equal width."""

class Bar(Node):
    """Blocks erased between `from` and `to` times, both included."""

    @property
    def to(self) -> int:
        """Most erases. (erases)"""
    @property
    def blocks(self) -> int:
        """Blocks. (blocks)"""

class Utilization(Node):
    """The share of the time that channels and dies were busy."""

    @property
    def channel(self) -> list[float]:
        """The share of the time that each channel was in use. (share)"""
    @property
    def die_mean(self) -> float | None:
        """The share of the time that a die was busy, mean over all dies. (share)"""
    @property
    def die_max(self) -> float | None:
        """The share of the time that the busiest die was busy. (share)"""

class Member(Node):
    """Statistics of a member of an array, or of a part of a drive that redundancy works across (operations only)."""

    @property
    def member(self) -> str | None:
        """Its place: `2`, or `2/0` in an array of arrays."""
    @property
    def name(self) -> str | None:
        """Name of the drive."""
    @property
    def operations(self) -> Operations:
        """Its operations."""
    @property
    def write_amplification(self) -> WriteAmplification:
        """Its own write amplification, relative to the pages that it was given to write."""
    @property
    def wear(self) -> Wear:
        """Its wear; none for a disk."""
    @property
    def utilization(self) -> Utilization:
        """How busy its parts were; none for a disk."""
    @property
    def host_pages_written(self) -> int | None:
        """Pages that it was given to write. (pages, lower is better)"""
    @property
    def written_mib_s(self) -> float | None:
        """Rate of writes to it. (MiB/s)"""
    @property
    def buffer(self) -> BufferHits:
        """Hits and misses of its DRAM."""
    @property
    def handles(self) -> list[Handle]:
        """Data of each of its placement handles; only with several."""
    @property
    def errors(self) -> MemberErrors:
        """Errors of its flash; only with an error model."""
    @property
    def energy(self) -> Energy:
        """Energy of a disk."""
    @property
    def disk(self) -> DiskActivity:
        """Operations of a disk, and its time by activity."""

class Handle(Node):
    """Data of a placement handle (`ftl.handles`). The bytes of all rows add up to those of the drive."""

    @property
    def handle(self) -> int | None:
        """The handle; none for data that belong to no handle of the host. (handle)"""
    @property
    def data(self) -> str:
        """Whose data: `host`; `parity`, which has open blocks of its own; or `other` (tables of the map, skipped pages, pages that no handle has programmed)."""
    @property
    def host_bytes(self) -> int:
        """Bytes that the host wrote with the handle; of a member, the pages that it was given to write. Over all handles NVMe's HBMW (Host Bytes with Metadata Written). (bytes)"""
    @property
    def media_bytes(self) -> int:
        """Bytes programmed for the handle: those of the host and what collection moved of them. Over all handles NVMe's MBMW (Media Bytes with Metadata Written). (bytes, lower is better)"""
    @property
    def erased_bytes(self) -> int:
        """Of the bytes that the handle has programmed, those whose block was erased. Over all handles NVMe's MBE (Media Bytes Erased). (bytes, lower is better)"""
    @property
    def waf(self) -> float | None:
        """Bytes programmed for each byte that the host wrote; none without writes. (ratio, lower is better)"""

class MemberErrors(Node):
    """Errors of the flash of a member."""

    @property
    def rber(self) -> Rber:
        """Raw bit error rates of the pages read."""
    @property
    def retries_per_read(self) -> float | None:
        """Retries for each page read. (retries, lower is better)"""
    @property
    def corrected_reads(self) -> int | None:
        """Pages that hard decoding corrected after at least one retry. (pages, lower is better)"""
    @property
    def soft_reads(self) -> int | None:
        """Pages that soft decoding corrected. (pages, lower is better)"""
    @property
    def uncorrectable(self) -> Uncorrectable:
        """Pages that no stage of the read chain corrected."""
    @property
    def uber(self) -> float | None:
        """Expected uncorrectable codewords for each bit of data read. (1/bit, lower is better)"""
    @property
    def lifetime_cycles(self) -> int | None:
        """P/E cycles after which the UBER exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more than 10 million. (P/E cycles, higher is better)"""

class Rber(Node):
    """Raw bit error rates of the pages read."""

    @property
    def mean(self) -> float | None:
        """Their mean. (1/bit, lower is better)"""
    @property
    def p99(self) -> float | None:
        """The RBER that 99 % of the reads do not exceed, at most 1 % too high. (1/bit, lower is better)"""
    @property
    def max(self) -> float | None:
        """The largest. (1/bit, lower is better)"""

class Uncorrectable(Node):
    """Pages that no stage of the read chain corrected."""

    @property
    def drawn(self) -> int | None:
        """As they were drawn, each page counted once until its block is erased. (pages, lower is better)"""
    @property
    def expected(self) -> float | None:
        """Their expected number: the sum of the probabilities over all reads. (pages, lower is better)"""

class Energy(Node):
    """Energy, if the drive file gives currents or powers."""

    @property
    def total_j(self) -> float | None:
        """Energy of the run. (J, lower is better)"""
    @property
    def mean_w(self) -> float | None:
        """Mean power. (W, lower is better)"""
    @property
    def per_gib_written_j(self) -> float | None:
        """Energy for each GiB that the host wrote. (J/GiB, lower is better)"""
    @property
    def flash_j(self) -> FlashEnergy:
        """Energy of the flash."""
    @property
    def operations_j(self) -> OperationEnergy:
        """Energy of flash operations, by kind and cause."""
    @property
    def dram_j(self) -> float | None:
        """Energy of the DRAM. (J, lower is better)"""
    @property
    def controller_j(self) -> float | None:
        """Energy of the controller. (J, lower is better)"""
    @property
    def disk_j(self) -> DiskEnergy:
        """Energy of a disk."""

class FlashEnergy(Node):
    """The energy of the flash, by activity."""

    @property
    def total(self) -> float | None:
        """Energy of the flash. (J, lower is better)"""
    @property
    def read(self) -> float | None:
        """Energy of reads in the array. (J, lower is better)"""
    @property
    def program(self) -> float | None:
        """Energy of programs in the array. (J, lower is better)"""
    @property
    def erase(self) -> float | None:
        """Energy of erases. (J, lower is better)"""
    @property
    def transfer(self) -> float | None:
        """Energy of the pins during transfers. (J, lower is better)"""
    @property
    def standby(self) -> float | None:
        """Energy of dies that were not busy. (J, lower is better)"""

class OperationEnergy(Node):
    """Energy of operations by kind and cause."""

    @property
    def read(self) -> EnergyByCause:
        """Energy of reads, by cause."""
    @property
    def program(self) -> EnergyByCause:
        """Energy of programs, by cause."""
    @property
    def erase(self) -> EnergyByCause:
        """Energy of erases, by cause."""
    @property
    def copyback(self) -> EnergyByCause:
        """Energy of copies inside a plane, by cause."""

class EnergyByCause(Node):
    """Energy of operations of one kind by cause."""

    @property
    def host(self) -> float | None:
        """Energy of reads for the host. (J, lower is better)"""
    @property
    def mirror(self) -> float | None:
        """Energy of reads for second and later copies. (J, lower is better)"""
    @property
    def update(self) -> float | None:
        """Energy of reads to complete pages that are written in part. (J, lower is better)"""
    @property
    def gc(self) -> float | None:
        """Energy of reads by garbage collection. (J, lower is better)"""
    @property
    def wear(self) -> float | None:
        """Energy of reads by wear leveling. (J, lower is better)"""
    @property
    def parity(self) -> float | None:
        """Energy of reads for parity. (J, lower is better)"""
    @property
    def parity_gc(self) -> float | None:
        """Energy of reads for parity that garbage collection writes again. (J, lower is better)"""
    @property
    def partial_parity(self) -> float | None:
        """Energy of reads for the parity of stripes that are not full. (J, lower is better)"""
    @property
    def rebuild(self) -> float | None:
        """Energy of reads by a rebuild. (J, lower is better)"""
    @property
    def migrate(self) -> float | None:
        """Energy of reads to move data between media. (J, lower is better)"""
    @property
    def metadata(self) -> float | None:
        """Energy of reads for the tables of the drive. (J, lower is better)"""
    @property
    def fold(self) -> float | None:
        """Energy of reads to empty the SLC cache. (J, lower is better)"""
    @property
    def retry(self) -> float | None:
        """Energy of reads of pages whose data could not be corrected before. (J, lower is better)"""
    @property
    def refresh(self) -> float | None:
        """Energy of reads to move data before they become unreadable. (J, lower is better)"""
    @property
    def scrub(self) -> float | None:
        """Energy of reads to see whether pages can be read. (J, lower is better)"""

class DiskEnergy(Node):
    """The energy of a disk, by activity."""

    @property
    def total(self) -> float | None:
        """Energy of the disk. (J, lower is better)"""
    @property
    def read(self) -> float | None:
        """Energy of the disk while it rotated to data and read it. (J, lower is better)"""
    @property
    def write(self) -> float | None:
        """Energy of the disk while it rotated to data and wrote it. (J, lower is better)"""
    @property
    def seek(self) -> float | None:
        """Energy of seeks. (J, lower is better)"""
    @property
    def idle(self) -> float | None:
        """Energy of the disk while it was idle or its controller worked. (J, lower is better)"""
    @property
    def standby(self) -> float | None:
        """Energy of the disk in standby. (J, lower is better)"""
    @property
    def spin_up(self) -> float | None:
        """Energy of spinning up. (J, lower is better)"""

class DiskActivity(Node):
    """Operations of a disk, and its time by activity."""

    @property
    def operations(self) -> int | None:
        """Operations of the disk. (operations, lower is better)"""
    @property
    def sequential(self) -> int | None:
        """Operations that began where the one before ended. (operations, higher is better)"""
    @property
    def seeks(self) -> int | None:
        """Operations for which the arm moved. (seeks, lower is better)"""
    @property
    def mean_seek_cylinders(self) -> float | None:
        """Cylinders that a seek crossed, mean. (cylinders, lower is better)"""
    @property
    def busy(self) -> float | None:
        """The share of the time that the disk was busy. (share)"""
    @property
    def overhead_s(self) -> float | None:
        """Time of the disk's controller. (s, lower is better)"""
    @property
    def seek_s(self) -> float | None:
        """Time of seeks. (s, lower is better)"""
    @property
    def rotation_s(self) -> float | None:
        """Time of waiting for the platter. (s, lower is better)"""
    @property
    def transfer_s(self) -> float | None:
        """Time of transfers to and from the platter. (s)"""
    @property
    def idle_s(self) -> float | None:
        """Time without work while the platter rotated. (s)"""
    @property
    def standby_s(self) -> float | None:
        """Time with the platter at rest. (s)"""
    @property
    def stops(self) -> int | None:
        """How often the platter was stopped. (stops)"""

class Integrity(Node):
    """Whether contents were right, and what failures and power cuts cost."""

    @property
    def checked_reads(self) -> int:
        """Page reads of requests whose contents were compared with what was written (`--verify`). (reads)"""
    @property
    def pages_read_back(self) -> int:
        """Pages compared when all were read back after the last request of a run with failures, which no other figure counts. (pages)"""
    @property
    def wrong_reads(self) -> int:
        """Reads, also those at the end, that returned something else. (reads, lower is better)"""
    @property
    def lost_pages(self) -> int:
        """Pages lost, each counted once. (pages, lower is better)"""
    @property
    def reconstructed_reads(self) -> int:
        """Page reads of a failed part that another copy or parity served. (pages, lower is better)"""
    @property
    def unprotected_page_s(self) -> float | None:
        """Pages that one more failure would have cost, times how long; none without redundancy. (page·s, lower is better)"""
    @property
    def time_to_full_redundancy_s(self) -> float | None:
        """Time from the last failure until full redundancy; none if it was not reached. (s, lower is better)"""
    @property
    def power_cuts(self) -> int:
        """Power cuts. (cuts)"""
    @property
    def interrupted_requests(self) -> int:
        """Requests under way at a power cut that were not acknowledged. (requests, lower is better)"""
    @property
    def volatile_pages_lost(self) -> int:
        """Acknowledged pages whose newest version was in volatile memory at a power cut. (pages, lower is better)"""
    @property
    def recovery_us(self) -> list[float]:
        """Time from each power cut until requests were accepted again. (µs, lower is better)"""
    @property
    def recovery_reads(self) -> int:
        """Pages read to restore the map. (pages, lower is better)"""
    @property
    def recovery_erases(self) -> int:
        """Blocks whose erase was started again. (erases, lower is better)"""

class Redundancy(Node):
    """The redundancy and what it takes of the flash."""

    @property
    def scheme(self) -> str:
        """The scheme."""
    @property
    def members(self) -> int:
        """Members in use. (members)"""
    @property
    def spares(self) -> int:
        """Hot spares. (members)"""
    @property
    def survives(self) -> int:
        """Failures that it survives for certain. (failures, higher is better)"""
    @property
    def unit(self) -> str:
        """What fails: a member, or a part of a drive."""
    @property
    def capacity_share(self) -> float | None:
        """The share of the flash that the host can use. (share, higher is better)"""

class Phase(Node):
    """A part of the run: before a failure, while something is missing, while it is rebuilt, while a part is slow, or after."""

    @property
    def phase(self) -> str:
        """Name of the phase: `before`, `degraded`, `rebuilding`, `moving back` (units leave distributed spares for the member that has been replaced), `slow`, `stalled` (nothing is missing, and a part is slow or stalls) or `after`."""
    @property
    def event(self) -> str | None:
        """The fault event that began the phase."""
    @property
    def from_s(self) -> float:
        """Start of the phase. (s)"""
    @property
    def until_s(self) -> float:
        """End of the phase. (s)"""
    @property
    def response_us(self) -> TimesByOperation:
        """Response times of requests acknowledged in the phase."""
    @property
    def operations(self) -> Operations:
        """Operations in the phase."""
    @property
    def reconstructed_reads(self) -> int:
        """Page reads of a failed part that another copy or parity served. (pages, lower is better)"""
    @property
    def lost_pages(self) -> int:
        """Pages lost in the phase. (pages, lower is better)"""
    @property
    def unprotected_page_s(self) -> float:
        """Pages that one more failure would have cost, times how long. (page·s, lower is better)"""

class Rebuild(Node):
    """The rebuild of a member, or of a part of a drive."""

    @property
    def member(self) -> str:
        """What is rebuilt, as the fault event names it: `member:1`, `channel:3`."""
    @property
    def start_s(self) -> float:
        """Its start. (s)"""
    @property
    def end_s(self) -> float | None:
        """Its end; none if it had not ended when the run did, or was interrupted by another event. (s, lower is better)"""
    @property
    def gib(self) -> float:
        """GiB that it wrote. (GiB)"""
    @property
    def share(self) -> float:
        """The share of what the member holds when it is full; below 1 if pages were never written, or were overwritten before they were rebuilt. (share)"""
    @property
    def mb_s(self) -> float | None:
        """MB (10⁶ bytes) that it wrote in a second. (MB/s, higher is better)"""
    @property
    def mib_s(self) -> float | None:
        """MiB that it wrote in a second. (MiB/s, higher is better)"""
    @property
    def full_member_hours(self) -> float | None:
        """Hours that the rebuild of a member full of data takes at this speed. (h, lower is better)"""
    @property
    def dram_fills(self) -> float | None:
        """How often what it wrote fills the DRAM of the new member; below 4 its speed is partly that of the DRAM. None without DRAM. (ratio)"""

class Volume(Node):
    """A volume of an array that has a workload of its own."""

    @property
    def workload(self) -> str:
        """Its workload: the path of a trace, or the text of a synthetic workload."""
    @property
    def requests(self) -> int:
        """Its requests, without those of the warm-up. (requests)"""
    @property
    def reads(self) -> int:
        """Reads. (requests)"""
    @property
    def writes(self) -> int:
        """Writes. (requests)"""
    @property
    def trims(self) -> int:
        """Trims. (requests)"""
    @property
    def flushes(self) -> int:
        """Flushes. (requests)"""
    @property
    def pages_read(self) -> int:
        """Logical pages that its reads touched, whole or in part, each time. (pages)"""
    @property
    def pages_written(self) -> int:
        """Logical pages that its writes touched, whole or in part, each time. (pages)"""
    @property
    def bytes_read(self) -> int:
        """Bytes read. (bytes)"""
    @property
    def bytes_written(self) -> int:
        """Bytes written. (bytes)"""
    @property
    def response_us(self) -> TimesByOperation:
        """Response times of its requests."""
    @property
    def latency_us(self) -> LatencyByOperation:
        """Where they went; none for untimed runs, and if that was not measured."""
    @property
    def throughput(self) -> Throughput:
        """Its share of the work done in each simulated second of the run."""

class Flow(Node):
    """A workload beside others (`--flow`)."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def workload(self) -> str:
        """Its workload: the path of a trace, or the text of a synthetic workload."""
    @property
    def requests(self) -> int:
        """Its requests, without those of the warm-up. (requests)"""
    @property
    def reads(self) -> int:
        """Reads. (requests)"""
    @property
    def writes(self) -> int:
        """Writes. (requests)"""
    @property
    def trims(self) -> int:
        """Trims. (requests)"""
    @property
    def flushes(self) -> int:
        """Flushes. (requests)"""
    @property
    def bytes_read(self) -> int:
        """Bytes read. (bytes)"""
    @property
    def bytes_written(self) -> int:
        """Bytes written. (bytes)"""
    @property
    def response_us(self) -> TimesByOperation:
        """Response times of its requests, from their arrival in the host queue."""
    @property
    def latency_us(self) -> LatencyByOperation:
        """Where they went; none for untimed runs, and if that was not measured."""
    @property
    def throughput(self) -> Throughput:
        """Its share of the work done in each simulated second of the run."""
    @property
    def operations(self) -> FlowOperations:
        """Flash operations that its requests asked for: data, copies, parities, merges and tables, not what drives do by themselves, such as garbage collection, nor what a write cache writes back; no values for untimed runs."""
    @property
    def waf_bytes(self) -> float | None:
        """Bytes programmed for its requests (`operations`) for each byte that it wrote; none without writes, for arrays, and for drives with a write cache, whose programs are no request's. (ratio, lower is better)"""
    @property
    def slowdown(self) -> float | None:
        """Mean response time of all its requests over that of the flow alone on the drive; none without `--alone`. (ratio, lower is better)"""

class FlowOperations(Node):
    """Operations of a flow by kind and cause."""

    @property
    def read(self) -> FlowOperationsByCause:
        """Pages read, by cause."""
    @property
    def program(self) -> FlowOperationsByCause:
        """Pages programmed, by cause."""
    @property
    def erase(self) -> FlowOperationsByCause:
        """Blocks erased, by cause."""
    @property
    def copyback(self) -> FlowOperationsByCause:
        """Pages copied inside their plane, by cause."""

class FlowOperationsByCause(Node):
    """Operations of a flow of one kind by cause."""

    @property
    def host(self) -> int | None:
        """Pages read for the host. (pages, lower is better)"""
    @property
    def mirror(self) -> int | None:
        """Pages read for second and later copies. (pages, lower is better)"""
    @property
    def update(self) -> int | None:
        """Pages read to complete pages that are written in part. (pages, lower is better)"""
    @property
    def gc(self) -> int | None:
        """Pages read by garbage collection. (pages, lower is better)"""
    @property
    def wear(self) -> int | None:
        """Pages read by wear leveling. (pages, lower is better)"""
    @property
    def parity(self) -> int | None:
        """Pages read for parity. (pages, lower is better)"""
    @property
    def parity_gc(self) -> int | None:
        """Pages read for parity that garbage collection writes again. (pages, lower is better)"""
    @property
    def partial_parity(self) -> int | None:
        """Pages read for the parity of stripes that are not full. (pages, lower is better)"""
    @property
    def rebuild(self) -> int | None:
        """Pages read by a rebuild. (pages, lower is better)"""
    @property
    def migrate(self) -> int | None:
        """Pages read to move data between media. (pages, lower is better)"""
    @property
    def metadata(self) -> int | None:
        """Pages read for the tables of the drive. (pages, lower is better)"""
    @property
    def fold(self) -> int | None:
        """Pages read to empty the SLC cache. (pages, lower is better)"""
    @property
    def retry(self) -> int | None:
        """Pages read of pages whose data could not be corrected before. (pages, lower is better)"""
    @property
    def refresh(self) -> int | None:
        """Pages read to move data before they become unreadable. (pages, lower is better)"""
    @property
    def scrub(self) -> int | None:
        """Pages read to see whether pages can be read. (pages, lower is better)"""

class Commands(Node):
    """How often planes worked together and cache registers overlapped."""

    @property
    def multi_plane(self) -> MultiPlane:
        """Multi-plane operations."""
    @property
    def cache(self) -> CacheCommands:
        """Operations through a cache register."""
    @property
    def suspended(self) -> Suspensions:
        """Operations that were suspended for reads."""
    @property
    def wasted_pages(self) -> int | None:
        """Pages left unprogrammed so that planes stay at the same offset. (pages, lower is better)"""

class MultiPlane(Node):
    """Multi-plane operations."""

    @property
    def read(self) -> int | None:
        """Multi-plane reads. (operations)"""
    @property
    def program(self) -> int | None:
        """Multi-plane programs. (operations)"""
    @property
    def erase(self) -> int | None:
        """Multi-plane erases. (operations)"""

class CacheCommands(Node):
    """Operations through a cache register."""

    @property
    def read(self) -> int | None:
        """Reads through a cache register. (operations)"""
    @property
    def program(self) -> int | None:
        """Programs through a cache register. (operations)"""

class Suspensions(Node):
    """How often operations were suspended for reads."""

    @property
    def program(self) -> int | None:
        """Suspensions of programs and copybacks. (suspensions)"""
    @property
    def erase(self) -> int | None:
        """Suspensions of erases. (suspensions)"""

class Packing(Node):
    """How full programs of several logical pages were."""

    @property
    def places(self) -> int | None:
        """Logical pages that a flash page holds. (pages)"""
    @property
    def empty_places(self) -> int | None:
        """Places that were left empty. (pages, lower is better)"""
    @property
    def filled(self) -> float | None:
        """The share of the places of programs that held a page. (share, higher is better)"""
    @property
    def flash_pages(self) -> FlashPages:
        """Whole flash pages."""
    @property
    def word_lines(self) -> int | None:
        """Word lines of several flash pages that were programmed, each at once. (word lines, lower is better)"""

class FlashPages(Node):
    """Operations on whole flash pages."""

    @property
    def read(self) -> int | None:
        """Flash pages read. (pages, lower is better)"""
    @property
    def program(self) -> int | None:
        """Flash pages programmed. (pages, lower is better)"""

class SlcCache(Node):
    """The SLC cache."""

    @property
    def written(self) -> int | None:
        """Pages programmed in the cache. (pages, higher is better)"""
    @property
    def bypassed(self) -> int | None:
        """Pages written past it because it had no room. (pages, lower is better)"""
    @property
    def share(self) -> float | None:
        """The share of the pages written that it took. (share, higher is better)"""
    @property
    def folded(self) -> int | None:
        """Pages moved out of it. (pages, lower is better)"""
    @property
    def died(self) -> int | None:
        """Pages overwritten or trimmed before their block was folded, so that they were not moved. (pages, higher is better)"""
    @property
    def erases(self) -> int | None:
        """Erases of its blocks, which are not among those in `wear`. (erases, lower is better)"""

class Mapping(Node):
    """How logical pages were found."""

    @property
    def map(self) -> str | None:
        """The map."""
    @property
    def hits(self) -> int | None:
        """Lookups whose entry was in memory. (lookups, higher is better)"""
    @property
    def misses(self) -> int | None:
        """Lookups whose entry had to be read from the flash. (lookups, lower is better)"""
    @property
    def miss_rate(self) -> float | None:
        """Misses as a share of all lookups. (share, lower is better)"""
    @property
    def evictions(self) -> int | None:
        """Entries evicted from memory. (entries, lower is better)"""
    @property
    def write_backs(self) -> int | None:
        """Translation pages written because an evicted entry had changed. (pages, lower is better)"""
    @property
    def moved_updates(self) -> int | None:
        """Translation pages written because garbage collection moved pages whose entries were not in memory. (pages, lower is better)"""
    @property
    def switch_merges(self) -> int | None:
        """Log blocks that became data blocks without a copy. (merges)"""
    @property
    def partial_merges(self) -> int | None:
        """Log blocks that became data blocks after the rest was copied. (merges, lower is better)"""
    @property
    def full_merges(self) -> int | None:
        """Blocks merged from several blocks. (merges, lower is better)"""

class ReadsAround(Node):
    """Reads of pages that can be read in several ways, and were not, or not only, read where the scheme chooses."""

    @property
    def redirected(self) -> int | None:
        """Pages that were read from another copy, or reconstructed, because their place was busy (`around-busy`). (pages)"""
    @property
    def hedged(self) -> int | None:
        """Pages that were read a second time in another way, because the first read took long; only with `hedge=…`. (pages)"""
    @property
    def hedge_won(self) -> int | None:
        """Pages of which the second read came first; only with `hedge=…`. (pages)"""
    @property
    def extra_reads(self) -> int | None:
        """Page reads that this took beyond those that it saved. (pages, lower is better)"""
    @property
    def extra_update_reads(self) -> int | None:
        """Those of them that were for old contents of pages written in part. (pages, lower is better)"""

class GcTurn(Node):
    """Collections of members that take turns."""

    @property
    def in_turn(self) -> int | None:
        """Collections that ended in the turn of their member. (collections)"""
    @property
    def out_of_turn(self) -> int | None:
        """Collections that could not wait for it, because writes were about to wait for them. (collections, lower is better)"""

class Chained(Node):
    """Figures of chained declustering."""

    @property
    def second_copy_reads(self) -> int | None:
        """Pages that the host read from their second copy. (pages)"""

class Backup(Node):
    """Figures of disks that back up SSDs."""

    @property
    def nvram_pages(self) -> int | None:
        """Pages of the non-volatile memory. (pages)"""
    @property
    def nvram_used(self) -> int | None:
        """Pages of the memory in use at the end. (pages, lower is better)"""
    @property
    def nvram_most(self) -> int | None:
        """Most pages of the memory in use at once. (pages, lower is better)"""
    @property
    def map_entries(self) -> int | None:
        """Entries of the map of staged pages at the end, 16 bytes each. (entries, lower is better)"""
    @property
    def map_most(self) -> int | None:
        """Most entries of that map. (entries, lower is better)"""
    @property
    def writes(self) -> Moved:
        """Writes of the host, cut at segments."""
    @property
    def free_segments(self) -> int | None:
        """Free segments of each disk. (segments)"""
    @property
    def disks(self) -> list[BackupDisk]:
        """Each disk."""
    @property
    def nvram_most_mib(self) -> float | None:
        """Most of the memory in use at once. (MiB, lower is better)"""
    @property
    def nvram_mean_mib(self) -> float | None:
        """The memory in use, mean over time. (MiB, lower is better)"""

class Moved(Node):
    """Operations, and the pages that they moved."""

    @property
    def operations(self) -> int | None:
        """Operations on adjacent pages. (operations, lower is better)"""
    @property
    def pages(self) -> int | None:
        """Pages that they moved. (pages, lower is better)"""

class BackupDisk(Node):
    """Figures of one disk that backs up SSDs."""

    @property
    def nvram_pages(self) -> int:
        """Pages of the memory in use for it at the end. (pages, lower is better)"""
    @property
    def nvram_most(self) -> int:
        """Most pages of the memory in use for it at once. (pages, lower is better)"""
    @property
    def in_place(self) -> Moved:
        """Phase 1: written to data segments."""
    @property
    def staged(self) -> Moved:
        """Phase 1: written to free segments."""
    @property
    def recalled(self) -> Moved:
        """Phase 2: read from free segments."""
    @property
    def destaged(self) -> Moved:
        """Phase 3: written to data segments."""
    @property
    def refilled(self) -> Moved:
        """Written to it to complete it after it or the memory was lost."""
    @property
    def restored(self) -> Moved:
        """Read from it for a new SSD."""
    @property
    def segments_used(self) -> int:
        """Free segments in use at the end. (segments, lower is better)"""
    @property
    def nvram_most_mib(self) -> float:
        """Most of the memory in use for it at once. (MiB, lower is better)"""
    @property
    def nvram_mean_mib(self) -> float:
        """The memory in use for it, mean over time. (MiB, lower is better)"""

class Conditioning(Node):
    """How the drive was conditioned before time 0."""

    @property
    def rounds(self) -> int | None:
        """Rounds of random writes before time 0. (rounds)"""
    @property
    def pages_per_round(self) -> int | None:
        """Pages that the host wrote in each round. (pages)"""
    @property
    def write_amplification(self) -> float | None:
        """Write amplification of the last five rounds. (ratio, lower is better)"""
    @property
    def steady(self) -> bool | None:
        """Whether the drive is in a steady state by SNIA's rule over the last five rounds."""

class Saturation(Node):
    """A drive that cannot keep up with its trace: response times grow with the length of the trace."""

    @property
    def offered_iops(self) -> float | None:
        """Reads and writes that arrived in a second. (requests/s)"""
    @property
    def reached_iops(self) -> float | None:
        """Reads and writes that the drive did in a second. (requests/s, higher is better)"""
    @property
    def busy_after_s(self) -> float | None:
        """Time that it was busy after the last arrival. (s, lower is better)"""

class Error(Node):
    """Errors of flash."""

    @property
    def rber(self) -> Rber:
        """Raw bit error rates of the pages read."""
    @property
    def retries_per_read(self) -> float | None:
        """Retries for each page read. (retries, lower is better)"""
    @property
    def corrected_reads(self) -> int | None:
        """Pages that hard decoding corrected after at least one retry. (pages, lower is better)"""
    @property
    def soft_reads(self) -> int | None:
        """Pages that soft decoding corrected. (pages, lower is better)"""
    @property
    def uncorrectable(self) -> Uncorrectable:
        """Pages that no stage of the read chain corrected."""
    @property
    def uber(self) -> float | None:
        """Expected uncorrectable codewords for each bit of data read. (1/bit, lower is better)"""
    @property
    def recovered_by_redundancy(self) -> int | None:
        """Uncorrectable pages, and pages lost to them, that redundancy restored when they were read. (pages, lower is better)"""
    @property
    def host_errors(self) -> int | None:
        """Read requests of the host that ended in an error. (requests, lower is better)"""
    @property
    def miscorrected(self) -> int | None:
        """Pages that a decoder passed on with wrong data; only where the code may miscorrect. (pages, lower is better)"""
    @property
    def caught(self) -> int | None:
        """Pages with wrong data that the end-to-end check found; only where the code may miscorrect. (pages, lower is better)"""
    @property
    def lifetime_cycles(self) -> int | None:
        """P/E cycles after which the UBER exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more than 10 million. Of arrays, the fewest of a member. (P/E cycles, higher is better)"""
    @property
    def with_redundancy(self) -> ErrorsLeft:
        """The same with what redundancy restores; left out without redundancy."""
    @property
    def field(self) -> FieldRates:
        """Rates of errors in the field; only with `errors.events_per_drive_day`."""

class ErrorsLeft(Node):
    """Errors that redundancy leaves, as long as nothing else has failed. The other pages of a stripe count as having the RBER of the page that is read, and fail independently."""

    @property
    def uber(self) -> float | None:
        """Expected codewords for each bit of data read that neither a stage of the read chain nor redundancy corrects. (1/bit, lower is better)"""
    @property
    def lifetime_cycles(self) -> int | None:
        """P/E cycles after which that exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more than 10 million. (P/E cycles, higher is better)"""

class FieldRates(Node):
    """Rates of errors in the field, of drives that differ by a gamma frailty."""

    @property
    def events_per_1000_drive_days(self) -> float | None:
        """Days with an error in 1,000 days of a drive. (events, lower is better)"""
    @property
    def drives_in_4_years(self) -> float | None:
        """The share of drives with an error in four years. (share, lower is better)"""
    @property
    def again_in_30_days(self) -> float | None:
        """The probability of another error within 30 days of one. (share, lower is better)"""

class Economy(Node):
    """What a drive or array costs and how long its flash lasts."""

    @property
    def cost_usd(self) -> float | None:
        """Price of the drive or array. (USD, lower is better)"""
    @property
    def cost_per_gb(self) -> float | None:
        """Price of a GB that the host can use. (USD/GB, lower is better)"""
    @property
    def formula(self) -> Formula:
        """Cost and life by the formulas of the hybrid-backup paper's table 1, for schemes that it covers."""
    @property
    def lifespan(self) -> float | None:
        """Life of the SSDs under this workload, as a multiple of that with each page written once. (ratio, higher is better)"""
    @property
    def lifespan_least(self) -> float | None:
        """The same for the SSD that is written most for its size. (ratio, higher is better)"""
    @property
    def erases_per_gib_written(self) -> float | None:
        """Blocks erased for each GiB that the host wrote. (erases/GiB, lower is better)"""

class Formula(Node):
    """Cost and life by published formulas."""

    @property
    def ssd_gb(self) -> float | None:
        """GB of SSD for each GB of data. (GB/GB, lower is better)"""
    @property
    def disk_gb(self) -> float | None:
        """GB of disk for each GB of data. (GB/GB, lower is better)"""
    @property
    def cost_per_gb(self) -> float | None:
        """Price of a GB of data. (USD/GB, lower is better)"""
    @property
    def lifespan(self) -> float | None:
        """Life of the SSDs, as a multiple of that of one alone. (ratio, higher is better)"""

class WearOut(Node):
    """How far apart the members of an array wear out."""

    @property
    def worn_out(self) -> int | None:
        """Members that are worn out. (members, lower is better)"""
    @property
    def first(self) -> MemberEnd:
        """The member that wore out first."""
    @property
    def second(self) -> MemberEnd:
        """The member that wore out second."""
    @property
    def apart_s(self) -> float | None:
        """Time from the first member's end to the second's. (s, higher is better)"""
    @property
    def apart_bytes(self) -> int | None:
        """Bytes that the host wrote in between. (bytes, higher is better)"""
    @property
    def apart_share(self) -> float | None:
        """The same as a share of what the host had written when the first member wore out. (share, higher is better)"""
    @property
    def expected_apart_share(self) -> float | None:
        """The share that follows if this workload continues. (share, higher is better)"""
    @property
    def lost_pages(self) -> int | None:
        """Pages lost in the run. (pages, lower is better)"""

class MemberEnd(Node):
    """When a member was worn out: it refused a write."""

    @property
    def member(self) -> str | None:
        """The member."""
    @property
    def s(self) -> float | None:
        """When it refused its first write. (s, higher is better)"""
    @property
    def bytes(self) -> int | None:
        """Bytes that the host had written to the array by then. (bytes, higher is better)"""

class Machine(Node):
    """Time and memory that the run took on this machine."""

    @property
    def wall_s(self) -> float | None:
        """Time on the wall clock. (s, lower is better)"""
    @property
    def requests_per_s(self) -> float | None:
        """Requests simulated in a second. (requests/s, higher is better)"""
    @property
    def page_operations_per_s(self) -> float | None:
        """Pages read, programmed and copied in a second. (pages/s, higher is better)"""
    @property
    def peak_rss_mib(self) -> float | None:
        """Most memory in use. (MiB, lower is better)"""
    @property
    def threads(self) -> int | None:
        """Threads that simulated. (threads)"""
