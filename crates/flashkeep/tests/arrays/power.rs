//! The power of an array fails.

use super::common::{file, job, summary};
use super::{DISK, MEMBER, RANDOM, array_job, integrity, run_error};
use serde_json::Value;

/// The power fails at every step of a random history: no durable page is lost, and what is there is what was written.
#[test]
fn the_power_of_an_array_fails() {
    let history = "synth:random,requests=60,write=0.8,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,depth=6,footprint=256KiB";
    let unit = "redundancy.stripe_kib=8";
    let mut struck = 0;
    for (scheme, members, key) in [
        ("none", 3, unit),
        ("mirror", 2, "redundancy.acknowledge=all"),
        ("mirror", 3, "redundancy.acknowledge=first"),
        ("raid4", 4, unit),
        ("raid5", 4, unit),
        ("raid6", 5, unit),
    ] {
        for cut in 0..60 {
            let mut job = array_job(scheme, members, history, &[key, "start.existing=\"all\""]);
            job.verify = true;
            job.fail = match cut % 4 {
                0 => vec![format!("power@{}us", 37 + 97 * cut)],
                1 => vec![format!("power@{cut}req"), format!("power@{}req", cut + 7)],
                2 if scheme != "none" => vec![format!("power@{cut}req"), format!("member:1@{}req", cut + 3)],
                _ => vec![format!("power@{cut}req")],
            };
            let run = summary(&job);
            let what = format!("{scheme} {:?}", job.fail);
            // A member that fails before the others have been given what the cut took may have had the only copy.
            let lost = if job.fail.len() > 1 && cut % 4 == 2 { 0.0 } else { integrity(&run, "lost_pages") };
            assert_eq!((integrity(&run, "wrong_reads"), lost), (0.0, 0.0), "{what}");
            let cuts = run.pointer("/integrity/power_cuts").and_then(Value::as_u64).unwrap_or(0);
            struck += cuts;
            assert!(cuts == 0 || integrity(&run, "recovery_reads") > 0.0, "{what}");
        }
    }
    assert!(struck > 300, "{struck} cuts");
    let disk = file("disk.toml", DISK);
    let drive = file("member.toml", MEMBER);
    let mirrored = format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\nacross = \"channel\"\n");
    for (members, scheme, part) in [
        (format!("\"2 * {drive}\", \"{disk}\""), "backup", "backup"),
        (format!("\"{drive}\", \"{disk}\""), "mirror", "a disk was writing"),
        (format!("\"2 * {}\"", file("mirrored.toml", &mirrored)), "mirror", "redundancy of its own"),
        (format!("\"2 * {drive},ftl.map=dftl\""), "mirror", "ftl.map"),
    ] {
        let set = [format!("members=[{members}]"), format!("redundancy.scheme={scheme}")];
        let mut job = job("\n", RANDOM, &set.each_ref().map(String::as_str));
        job.fail = vec!["power@1s".to_owned()];
        let message = run_error(&job);
        assert!(message.contains(part), "{message}");
    }
}
