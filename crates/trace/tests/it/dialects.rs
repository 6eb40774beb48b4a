//! All dialects of traces, each with a small text of our own: its format, its counts, its first and last request. Damaged
//! ones give one message, or the requests that are left.

use flashkeep_trace::{Action, BadRecords, Columns, Op, OpenOptions, Request, open_reader};
use proptest::prelude::*;

/// One dialect: a name, its options, its text, and what must be found in it.
struct Dialect {
    name: &'static str,
    options: OpenOptions,
    bytes: Vec<u8>,
    format: &'static str,
    /// Reads, writes, trims and flushes.
    counts: [usize; 4],
    /// Arrival in ns, offset, length, device, op.
    first: (u64, u64, u32, u32, Op),
    last: (u64, u64, u32, u32, Op),
}

/// A dialect that is detected.
fn detected(
    name: &'static str,
    bytes: impl Into<Vec<u8>>,
    format: &'static str,
    counts: [usize; 4],
    first: (u64, u64, u32, u32, Op),
    last: (u64, u64, u32, u32, Op),
) -> Dialect {
    Dialect { name, options: OpenOptions::default(), bytes: bytes.into(), format, counts, first, last }
}

/// A table whose columns are mapped.
fn mapped(
    name: &'static str,
    map: &str,
    text: &str,
    counts: [usize; 4],
    first: (u64, u64, u32, u32, Op),
    last: (u64, u64, u32, u32, Op),
) -> Dialect {
    let options = OpenOptions { columns: Some(Columns::parse(map).unwrap()), ..OpenOptions::default() };
    Dialect { options, ..detected(name, text, "csv", counts, first, last) }
}

fn utf_16(text: &str) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let bytes = |&(seconds, id, size, next): &(u32, u64, u32, i64)| {
        [&seconds.to_le_bytes()[..], &id.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    records.iter().flat_map(bytes).collect()
}

const MSR: &str = "128166372003061629,hm,0,Read,8192,4096,100\n128166372003061639,hm,1,Write,0,512,50\n";
const ISSUED: &str = "8,0 0 1 1.000000000 9 D R 8 + 8 [a]\n8,0 0 2 1.000001000 9 C R 8 + 8 [0]\n\
                      8,0 0 3 1.000002000 9 D FN [a]\n8,0 0 4 1.000003000 9 D WS 16 + 8 [a]\n";

#[allow(clippy::too_many_lines)] // a table
fn texts() -> Vec<Dialect> {
    use Op::{Flush, Read, Trim, Write};
    let msr_first = (0, 8192, 4096, 0, Read);
    let msr_last = (1000, 0, 512, 1, Write);
    vec![
        detected(
            "ssdsim",
            "5 0 8 8 1\n9 1 16 8 0\n",
            "ssdsim",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Read),
            (4, 8192, 4096, 1, Write),
        ),
        detected(
            "disksim",
            "0.5 0 8 8 1\n2.25 0 16 1 0\n",
            "disksim",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Read),
            (1_750_000, 8192, 512, 0, Write),
        ),
        detected(
            "spc",
            "0,8,4096,R,0.5\n1,16,512,w,0.75\n",
            "spc",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Read),
            (250_000_000, 8192, 512, 1, Write),
        ),
        detected("msr", MSR, "msr", [1, 1, 0, 0], msr_first, msr_last),
        detected(
            "msr with a header",
            format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}"),
            "msr",
            [1, 1, 0, 0],
            msr_first,
            msr_last,
        ),
        detected(
            "msr in quotes",
            MSR.replace("hm,", "\"hm\",").replace("Read", "\"Read\"").replace("Write", "\"Write\""),
            "msr",
            [1, 1, 0, 0],
            msr_first,
            msr_last,
        ),
        detected(
            "msr with R and W",
            MSR.replace("Read", "R").replace("Write", "W"),
            "msr",
            [1, 1, 0, 0],
            msr_first,
            msr_last,
        ),
        detected(
            "msr with an index column",
            format!(
                ",t,h,d,o,a,s,r\n0,{}\n1,{}\n2,128166372003061649,hm,1,Write,0,512,50\n",
                MSR.lines().next().unwrap(),
                MSR.lines().nth(1).unwrap()
            ),
            "msr",
            [1, 2, 0, 0],
            msr_first,
            (2000, 0, 512, 1, Write),
        ),
        detected(
            "msr in UTF-16",
            utf_16(&MSR.replace('\n', "\r\n")),
            "msr",
            [1, 1, 0, 0],
            msr_first,
            msr_last,
        ),
        detected(
            "two heads in one file",
            format!("a,b,c,d,e,f,g\n{MSR}a,b,c,d,e,f,g\n{MSR}"),
            "msr",
            [2, 2, 0, 0],
            msr_first,
            msr_last,
        ),
        detected(
            "systor",
            "Timestamp,Response,IOType,LUN,Offset,Size\n5.25,0.1,W,3,512,512\n5.125,,R,3,0,512\n",
            "systor",
            [1, 1, 0, 0],
            (0, 0, 512, 0, Read),
            (125_000_000, 512, 512, 0, Write),
        ),
        detected(
            "tencent",
            "1538323200,8,8,1,1058\n1538323201,16,8,0,7\n",
            "tencent",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Write),
            (1_000_000_000, 8192, 4096, 1, Read),
        ),
        detected(
            "tencent with its head",
            "Timestamp,Offset,Size,IOType,VolumeID\n0,8,8,1,1058\n1,16,8,0,7\n",
            "tencent",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Write),
            (1_000_000_000, 8192, 4096, 1, Read),
        ),
        detected(
            "alibaba with an index column",
            "0,419,W,512,512,1577808000000046\n1,3,R,0,512,1577808000000048\n2,3,R,512,512,1577808000000050\n",
            "alibaba",
            [2, 1, 0, 0],
            (0, 512, 512, 0, Write),
            (4000, 512, 512, 1, Read),
        ),
        detected(
            "blkparse",
            "8,0 0 1 1.5 9 Q R 8 + 8 [a]\n8,0 0 2 1.6 9 D R 8 + 8 [a]\n8,0 0 3 1.75 9 Q DS 16 + 8 [a]\n8,16 0 4 2.0 9 Q FN [a]\n",
            "blkparse",
            [1, 0, 1, 1],
            (0, 4096, 4096, 0, Read),
            (500_000_000, 0, 0, 1, Flush),
        ),
        Dialect {
            options: OpenOptions { action: Some(Action::Issued), ..OpenOptions::default() },
            ..detected(
                "blkparse with issued events",
                ISSUED,
                "blkparse",
                [1, 1, 0, 1],
                (0, 4096, 4096, 0, Read),
                (3000, 8192, 4096, 0, Write),
            )
        },
        Dialect {
            options: OpenOptions { action: Some(Action::Completed), ..OpenOptions::default() },
            ..detected(
                "blkparse with completed events",
                ISSUED,
                "blkparse",
                [1, 0, 0, 0],
                (0, 4096, 4096, 0, Read),
                (0, 4096, 4096, 0, Read),
            )
        },
        detected(
            "fio version 3",
            "fio version 3 iolog\n2 /my data add\n7 /my data read 8 512\n9 /my data sync 0 0\n",
            "fio",
            [1, 0, 0, 1],
            (0, 8, 512, 0, Read),
            (2000, 0, 0, 0, Flush),
        ),
        detected(
            "fio version 2",
            "fio version 2 iolog\n/a read 0 512\n/a wait 5 0\n/a wait 3 0\n/a write 8 512\n",
            "fio",
            [1, 1, 0, 0],
            (0, 0, 512, 0, Read),
            (5_000_000, 8, 512, 0, Write),
        ),
        detected(
            "fio latency log",
            "12, 81920, 1, 4096, 8192, 0\n14, 900, 0, 512, 0, 0\n",
            "fio-log",
            [1, 1, 0, 0],
            (0, 8192, 4096, 0, Write),
            (2_000_000, 0, 512, 0, Read),
        ),
        detected(
            "fiu",
            "89967195015098 3243 syslogd 904265560 8 W 6 0 531e779f\n89967195016098 3 Web Content 8 8 R 6 1 0\n",
            "fiu",
            [1, 1, 0, 0],
            (0, 904_265_560 * 512, 4096, 0, Write),
            (1000, 4096, 4096, 1, Read),
        ),
        detected(
            "etw",
            "BeginHeader\n DiskRead,  TimeStamp,  Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime\nEndHeader\n\
             DiskWrite, 700, a ( 4), 3, 0xff, 0x1000, 0x200, 100, 1, 0x0\n CSwitch, 701\nDiskRead, 900, a ( 4), 3, 2, 0xff, 0x0, 0x400, 500, 0, 0x0\n",
            "etw",
            [1, 1, 0, 0],
            (0, 0, 1024, 0, Read),
            (200_000, 4096, 512, 1, Write),
        ),
        detected(
            "biosnoop",
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n0.001    a  1950   sda   W 8   4096      0.5\n0.002    my b  1950   sdb   R 16   512      1.5\n",
            "biosnoop",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Write),
            (0, 8192, 512, 1, Read),
        ),
        detected(
            "perf",
            "dd 1 [001] 12.5: block:block_rq_issue: 8,0 WS 4096 () 8 + 8 [dd]\ndd 1 [001] 12.75: block:block_rq_issue: 8,0 R 512 () 16 + 1 none,0,0 [dd]\n",
            "perf",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Write),
            (250_000_000, 8192, 512, 0, Read),
        ),
        detected(
            "baleen",
            "77 4096 8192 1570000000.5 2 1 1\n99 0 4096 1570000001.5 4 1 1\n",
            "baleen",
            [1, 1, 0, 0],
            (0, 4096, 8192, 0, Read),
            (1_000_000_000, 8 << 20, 4096, 0, Write),
        ),
        detected(
            "oracleGeneral",
            oracle(&[(5, 77, 100, 2), (6, 78, 5000, -1), (7, 77, 100, 3), (7, 77, 100, -1)]),
            "oracle-general",
            [4, 0, 0, 0],
            (0, 0, 100, 0, Read),
            (2_000_000_000, 0, 100, 0, Read),
        ),
        mapped(
            "a table with tabs",
            "time=0:us,op=1,offset=2:sectors,size=3,device=4",
            "t\to\ta\ts\td\n7\tWS\t8\t512\tx\n9\tRA\t16\t512\ty\n",
            [1, 1, 0, 0],
            (0, 4096, 512, 0, Write),
            (2000, 8192, 512, 1, Read),
        ),
        mapped(
            "a table with semicolons",
            "time=when:s,op=what,offset=at,size=len",
            "when;what;at;len\n1.5;R;0x1000;512\n2;T;0;512\n",
            [1, 0, 1, 0],
            (0, 4096, 512, 0, Read),
            (500_000_000, 0, 512, 0, Trim),
        ),
        mapped(
            "a table with blanks",
            "time=0:ns,op=4:read=1/write=0,offset=2:sectors,size=3:sectors",
            "5  0 8 8 1\n9  0 16 8 0\n",
            [1, 1, 0, 0],
            (0, 4096, 4096, 0, Read),
            (4, 8192, 4096, 0, Write),
        ),
    ]
}

fn read(bytes: &[u8], options: &OpenOptions) -> Result<(Vec<Request>, String, Vec<String>), String> {
    let reader = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let mut source = open_reader("t", reader, options).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    while source.fill(&mut all).map_err(|error| error.to_string())? > 0 {}
    Ok((all, source.provenance().format, source.warnings()))
}

#[test]
fn each_dialect_is_read_as_what_it_is() {
    for dialect in texts() {
        let name = dialect.name;
        let (found, format, warnings) =
            read(&dialect.bytes, &dialect.options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format, dialect.format, "{name}");
        let count = |op| found.iter().filter(|request| request.op == op).count();
        assert_eq!([Op::Read, Op::Write, Op::Trim, Op::Flush].map(count), dialect.counts, "{name}");
        let of = |request: &Request| {
            (request.arrival_ns, request.offset, request.length, request.device, request.op)
        };
        assert_eq!(of(&found[0]), dialect.first, "{name}");
        assert_eq!(of(found.last().unwrap()), dialect.last, "{name}");
        assert!(!warnings.iter().any(|warning| warning.contains("passed over")), "{name}: {warnings:?}");
    }
}

#[test]
fn what_is_no_list_of_requests_is_refused_with_what_to_use() {
    let message = |text: &str| read(text.as_bytes(), &OpenOptions::default()).unwrap_err();
    let averages = message("1000, 317611, 1, 0, 0\n2000, 317000, 1, 0, 0\n");
    assert!(
        averages.contains("a log of averages (log_avg_msec)") && averages.contains("--write_iolog"),
        "{averages}"
    );
    let both = message("1000, 317611, 400000, 1, 0, 0\n");
    assert!(both.contains("a log of averages"), "{both}");
    let issued = message(ISSUED);
    assert!(issued.ends_with("no Q events; 3 D events, 1 C events: --action D takes these"), "{issued}");
    let table = message("1000,4247200,128,1,3\n1010,8,8,0,3\n");
    assert!(table.contains("say which") && table.contains("--format tencent"), "{table}");
    let mut tar = vec![0_u8; 1024];
    tar[..7].copy_from_slice(b"msr.csv");
    tar[257..262].copy_from_slice(b"ustar");
    let tar = read(&tar, &OpenOptions::default()).unwrap_err();
    assert!(tar.contains("a tar archive, whose first file is msr.csv"), "{tar}");
    let action = OpenOptions { action: Some(Action::Issued), ..OpenOptions::default() };
    assert!(read(MSR.as_bytes(), &action).unwrap_err().contains("action: means nothing in msr"));
}

/// The fields of a text that a damage may change.
fn damage(bytes: &[u8], kind: u8, at: usize, other: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = at % bytes.len();
    match kind {
        // Cut.
        0 => bytes.truncate(place),
        // Zero bytes, as after a crash of the recording machine.
        1 => bytes[place..].iter_mut().take(16).for_each(|byte| *byte = 0),
        // A huge number.
        2 => {
            let huge = b"99999999999999999999".iter().copied();
            bytes.splice(place..place, huge);
        }
        // Two fields of a line, exchanged.
        _ => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let count = lines.len();
            let line = &mut lines[at % count];
            let separator = if line.contains(',') { ',' } else { ' ' };
            let mut fields: Vec<&str> = line.split(separator).collect();
            let fields_count = fields.len();
            fields.swap(at % fields_count, other % fields_count);
            *line = fields.join(&separator.to_string());
            bytes = (lines.join("\n") + "\n").into_bytes();
        }
    }
    bytes
}

proptest! {
    /// A damaged trace: its requests in order, or one message that names the file, on one line.
    #[test]
    fn damage_gives_one_message_or_requests(which in 0..100_usize, kind in 0..4_u8, at in 0..1000_usize, other in 0..20_usize, skip: bool) {
        let dialects = texts();
        let dialect = &dialects[which % dialects.len()];
        let bytes = damage(&dialect.bytes, kind, at, other);
        let bad_records = if skip { BadRecords::Skip } else { BadRecords::Refuse };
        match read(&bytes, &OpenOptions { bad_records, ..dialect.options.clone() }) {
            Ok((found, ..)) => {
                prop_assert!(found.windows(2).all(|two| two[0].arrival_ns <= two[1].arrival_ns));
                prop_assert!(found.iter().all(|request| request.length > 0 || request.op == Op::Flush));
                prop_assert!(found.len() <= dialect.counts.iter().sum::<usize>() + 2);
            }
            Err(message) => prop_assert!(message.starts_with("t:") && !message.contains('\n'), "{}", message),
        }
    }
}
