// The live page of a served drive: asks for figures once a second, and sends verbs.

const KEY = location.hash.slice(1);
const PERIOD = 1000, PATIENCE = 15000; // milliseconds
const state = { samples: [], next: 0, run: null, shown: {} };
const charts = CHARTS.map((kind) => new Chart(kind));

const WHAT = { name: "what", size: 16 };
const FOR = "for a time, such as 5s, 200ms";
const VERBS = [
  ["fail", [{ ...WHAT }, { name: "options", size: 24, optional: true, placeholder: "transient replace_after=10s" }],
   "channel:C, chip:C.K, die:C.K.D, plane:…, block:…, page:…; member:M of an array; disk; power. Without options it stays failed."],
  ["slow", [{ ...WHAT }, { name: "factor", size: 5, value: "10" }, { name: "for", size: 6, value: "5s" }], `channel, chip, die, plane, member, disk or drive; F times as long, ${FOR}`],
  ["stall", [{ ...WHAT }, { name: "for", size: 6, value: "200ms" }], `it starts no operation ${FOR}`],
  ["cut", [], "the power fails and returns: volatile pages fall back to their durable versions"],
  ["crash-image", [{ name: "file", size: 20, placeholder: "crash.img" }, { name: "of pages not durable", choices: ["model", "none", "half", "all"] },
                   { name: "seed", size: 4, optional: true, placeholder: "1" }], "the bytes after a cut at this instant, as a sparse file; the drive serves on"],
  ["flush", [], "a FLUSH, as from a client"],
  ["unflushed", [], "acknowledged ranges that a cut may take"],
  ["errors", [], "bit errors, and the ranges that are lost"],
  ["age", [{ name: "time", size: 6, value: "30d" }], "time passes, without requests"],
  ["snapshot", [{ name: "file", size: 20, placeholder: "drive.aged" }], "saves the drive, without bytes, for --aged"],
];

/** Replaces the contents of an element if they have changed, so that a selection of text survives. */
function renew(id, told, build) {
  const key = JSON.stringify(told);
  if (state.shown[id] === key) return;
  state.shown[id] = key;
  $(id).replaceChildren(...build());
}

function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  const at = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), units.length - 1);
  return `${short(count / 1000 ** at)} ${units[at]}`;
}

/** A virtual time: 12.345 s, 1 h 02 min 03.456 s, 30.500 d. */
function time(seconds) {
  if (seconds < 600) return `${seconds.toFixed(3)} s`;
  const two = (value, digits) => value.toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60, 0)} min ${two(seconds % 60, 3)} s`;
  return `${(seconds / 86400).toFixed(3)} d`;
}

/** `chip:0.0@5508330090ns` as people read it. */
const fault = (event) => event?.replace(/@(\d+)ns$/, (_, ns) => ` at ${time(ns / 1e9)}`) ?? NONE;

const whole = (value) => (value ?? null) === null ? NONE : value.toLocaleString("en-US");
const share = (value) => (value ?? null) === null ? NONE : `${(100 * value).toFixed(1)} %`;

function table(columns, rows) {
  const cell = (name, kind, text) => make(name, { className: kind === "text" ? "text" : "" }, text);
  return [make("thead", {}, make("tr", {}, ...columns.map(([title, , kind]) => cell("th", kind, title)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map(([, value, kind]) => cell("td", kind, value(row))))))];
}

/** Columns without any value are left out. */
const used = (columns, rows) => columns.filter(([, value]) => rows.some((row) => ![NONE, ""].includes(value(row))));

function counts(now) {
  const { serve, requests } = now, phase = now.phases.at(-1);
  const healthy = !phase || ["before", "after"].includes(phase.phase);
  const tiles = [
    ["virtual time", time(now.time_ns / 1e9)], ["requests of clients", whole(serve.requests)],
    ["reads", whole(requests.reads)], ["writes", whole(requests.writes)], ["trims", whole(requests.trims)], ["flushes", whole(requests.flushes)],
    ["failed requests", whole(serve.failed_requests), serve.failed_requests > 0],
    ["lost", bytes(now.lost_bytes), now.lost_bytes > 0],
    ["state", phase ? (phase.phase === "before" ? "no fault" : phase.phase) : "no fault", !healthy],
    ["power cuts", whole(now.power_cuts)],
    ["late replies, the latest", serve.late_replies ? `${whole(serve.late_replies)}, ${short(serve.latest_reply_us / 1000)} ms` : "0"],
    ["contents in memory", bytes(serve.stored_bytes)],
  ];
  if (now.power_cuts) tiles.push(["pages reverted by cuts", whole(now.volatile_pages_lost)]);
  renew("counts", tiles, () => tiles.map(([name, value, bad]) => make("li", { className: bad ? "bad" : "" }, make("b", {}, value), name)));
}

function reveal(section, wanted) {
  $(section).hidden = document.querySelector(`nav a[href="#${section}"]`).hidden = !wanted;
}

function tables(now) {
  const members = used([
    [now.redundancy.unit, (row) => row.member, "text"], ["drive", (row) => row.name ?? NONE, "text"],
    ["faults", (row) => row.faults.map(fault).join(", ") || (now.members.some((one) => one.faults.length) ? NONE : ""), "text"],
    ["pages programmed", (row) => whole(row.programs)], ["moved by GC", (row) => whole(row.gc)],
    ["write amplification", (row) => short(row.waf)], ["erases", (row) => whole(row.erases)],
    ["most of a block", (row) => whole(row.erases_max)], ["erases left, mean", (row) => short(row.life_left)],
    ["busy", (row) => share(row.busy)], ["read retries per read", (row) => short(row.retries)], ["uncorrectable pages", (row) => whole(row.uncorrectable)],
  ], now.members);
  reveal("of-members", now.members.length > 0);
  const { scheme, survives, unit } = now.redundancy;
  const title = `${unit === "member" ? "Members" : "Parts"}: ${scheme}, survives ${survives} ${survives === 1 ? "failure" : "failures"} of a ${unit}`;
  renew("members-title", title, () => [title]);
  renew("members", now.members, () => table(members, now.members));
  const lost = now.phases.some((phase) => phase.lost_pages);
  reveal("of-phases", now.phases.length > 0);
  renew("phases", now.phases, () => table([
    ["phase", (row) => row.phase, "text"], ["begun by", (row) => fault(row.event), "text"], ["from", (row) => time(row.from_s)],
    ["until", (row) => (row.until_s === null ? "now" : time(row.until_s))], ["p99, µs", (row) => short(row.p99_us)],
    ["reconstructed page reads", (row) => whole(row.reconstructed_reads)], ...(lost ? [["pages lost", (row) => whole(row.lost_pages)]] : []),
  ], now.phases));
  renew("rebuilds", now.rebuilds, () => (now.rebuilds.length ? table([
    ["rebuild of", (row) => row.member, "text"], ["start", (row) => time(row.start_s)],
    ["end", (row) => (row.end_s === null ? "not ended" : time(row.end_s))], ["written, GiB", (row) => short(row.gib)], ["of the member", (row) => share(row.share)],
  ], now.rebuilds) : []));
}

function show(found) {
  const { now, columns } = found;
  if (found.next < state.next) state.samples = [];
  state.next = found.next;
  state.samples.push(...found.samples.map((values) => Object.fromEntries(columns.map((column, at) => [column, values[at]]))));
  state.samples.splice(0, Math.max(0, state.samples.length - found.kept));
  renew("actions", found.actions, () => found.actions.toReversed().map((action) => make("tr", { className: action.ok ? "" : "bad" },
    make("td", {}, action.at), make("td", {}, [action.verb, ...action.arguments].join(" ")), make("td", {}, action.told))));
  $("no-actions").hidden = found.actions.length > 0;
  if (!now) return;
  const title = `${now.drive}, ${bytes(now.capacity_bytes)}`;
  if (!state.titled) fillPlaces(now);
  state.titled = $("drive").textContent = document.title = title;
  renew("warnings", now.warnings, () => [`Start: ${now.start}.${now.warnings.length ? ` Warnings: ${now.warnings.join("; ")}.` : ""}`]);
  counts(now);
  tables(now);
  const marks = found.actions.filter((action) => action.ok && ["fail", "slow", "stall", "cut", "age"].includes(action.verb));
  for (const chart of charts) if (state.samples.length) chart.show(state.samples, found.wall_s, marks);
}

/** An example of what can fail, for the kind of drive. */
function fillPlaces(now) {
  const disk = now.members.length === 0 && state.samples.every((one) => one.fill === null);
  const example = disk ? "disk" : now.redundancy.unit === "member" ? "member:0" : "chip:0.0";
  for (const input of document.querySelectorAll("#verbs input[name=what]")) input.value ||= example;
}

function complain(text) {
  $("problem").hidden = !text;
  if ($("problem").textContent !== text) $("problem").textContent = text;
}

/** Asks for what is new; whether there will be more. */
async function poll() {
  let found;
  try {
    const answer = await fetch(`figures?after=${state.next}`, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
  } catch (problem) {
    state.since ??= new Date().toLocaleTimeString("en-GB");
    const why = problem instanceof TypeError ? "it has ended, or cannot be reached" : problem.message;
    complain(`The server has not answered since ${state.since}: ${why}. The figures are those of before.`);
    return true;
  }
  state.since = null;
  state.run ??= found.run;
  if (found.run !== state.run) {
    complain("Another server answers at this address now. Open the address that it has printed.");
    return false;
  }
  complain(found.problem);
  show(found);
  return true;
}

async function watch() {
  clearTimeout(state.timer);
  const more = await poll();
  clearTimeout(state.timer);
  if (more) state.timer = setTimeout(watch, PERIOD);
}

/** Carries out a verb and tells what came of it. */
async function send(verb, form) {
  const button = form.querySelector("button"), output = form.querySelector("output");
  const given = [...form.querySelectorAll("input, select")].map((input) => input.value.trim());
  while (given.length && !given.at(-1)) given.pop();
  const words = verb === "fail" ? given.flatMap((text) => text.split(/[\s,]+/)) : given;
  button.disabled = true;
  output.className = "";
  output.textContent = "…";
  try {
    const answer = await fetch("control", {
      method: "POST", headers: { "Content-Type": "application/json", "X-Flashkeep-Key": KEY }, body: JSON.stringify({ verb, arguments: words }),
    });
    const found = await answer.json();
    output.className = found.ok ? "" : "bad";
    output.textContent = found.ok ? told(found) : `refused: ${found.error}`;
  } catch {
    output.className = "bad";
    output.textContent = "no answer: the server has ended, or cannot be reached";
  }
  button.disabled = false;
  if (!state.since) watch();
}

/** The answer in one line; lists are counted. */
function told(answer) {
  const parts = [`done at virtual time ${time(answer.time_ns / 1e9)}`];
  for (const [key, value] of Object.entries(answer)) {
    if (["ok", "time_ns"].includes(key) || value === null || (typeof value === "object" && !Array.isArray(value))) continue;
    const name = key.replaceAll("_", " ");
    if (Array.isArray(value)) parts.push(`${name === "ranges" ? "" : `${name}: `}${whole(value.length)} ranges`);
    else if (key === "ready_ns") parts.push(`ready at ${time(value / 1e9)}`);
    else parts.push(`${name} ${typeof value === "number" ? whole(value) : value}`);
  }
  return parts.join("; ");
}

function field({ name, choices, optional, ...attributes }) {
  const input = choices ? make("select", { name }, ...choices.map((choice) => make("option", {}, choice)))
    : make("input", { name, required: !optional, spellcheck: false, autocomplete: "off", ...attributes });
  return make("label", {}, `${name} `, input);
}

function controls() {
  $("locked").hidden = Boolean(KEY);
  $("unlocked").hidden = !KEY;
  for (const [verb, inputs, hint] of VERBS) {
    const button = make("button", { type: "submit", disabled: !KEY }, verb);
    const form = make("form", { onsubmit: (event) => { event.preventDefault(); send(verb, form); } },
      button, make("div", { className: "inputs" }, ...inputs.map(field), make("span", { className: "hint" }, hint)), make("output"));
    form.dataset.verb = verb;
    $("verbs").append(form);
  }
}

/** Links within the page; its address keeps the key. */
function links() {
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => { event.preventDefault(); $(link.hash.slice(1)).scrollIntoView({ behavior: "smooth" }); });
  }
  addEventListener("hashchange", () => location.reload());
}

$("charts").append(...charts.map((chart) => chart.figure));
controls();
links();
watch();
