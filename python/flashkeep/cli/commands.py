"""The command `flashkeep`: turns its arguments into jobs, and their results into a table or JSON and an exit code."""

from __future__ import annotations

import itertools
import os
import sys

from .._flashkeep import DriveError, OptionError, TraceError, __version__
from ..extras import MissingExtraError
from ..inputs.flows import has_flows
from ..inputs.run_options import RUN_OPTIONS, options_of
from ..render.terminal import BOLD, Page
from .options import UsageError, group_help, is_group, overview, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DONE, FAILED, WRONG_INPUT, DATA_LOST, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""The exit codes."""

SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./-_")
"""Letters that no shell changes."""


class Terminated(BaseException):
    """The process received SIGTERM, or its terminal was closed."""


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns its exit code; handles all errors."""
    try:
        code = _main(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except (UsageError, DriveError, TraceError, OptionError) as error:
        return _fail(WRONG_INPUT, str(error))
    except MissingExtraError as missing:
        return _fail(WRONG_INPUT, str(missing))
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, Python would report it again when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt as stopped:
        return _fail(INTERRUPTED, "; ".join(["interrupted", *map(str, stopped.args)]))
    except Terminated as stopped:
        return _fail(TERMINATED, "; ".join(["terminated", *map(str, stopped.args)]))
    except OSError as error:
        return _fail(FAILED, str(error) if error.errno is None else _system_words(error))
    except MemoryError as error:
        return _fail(FAILED, str(error) or "out of memory")
    except Exception as error:
        if "FLASHKEEP_TRACEBACK" in os.environ:
            raise
        told = str(error) if isinstance(error, RuntimeError) else f"internal error: {type(error).__name__}: {error}"
        return _fail(FAILED, f"{' '.join(told.split())}; this is a bug, please report it with this command line")


def _fail(code: int, message: str) -> int:
    sys.stderr.write(f"{message if message.startswith('flashkeep') else f'flashkeep: {message}'}\n")
    return code


def _system_words(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)


def _main(argv: list[str]) -> int:
    if not argv or (argv[0] in ("-h", "--help", "help") and len(argv) == 1):
        _say(overview())
        return DONE if argv else WRONG_INPUT
    if argv[0] in ("-h", "--help", "help"):
        argv = [*argv[1:], "--help"]
    if is_group(argv[0]) and argv[1:2] in (["-h"], ["--help"]):
        _say(group_help(argv[0]))
        return DONE
    if argv[0] == "complete":  # what completion scripts call
        from .completion import candidates

        _say("\n".join(candidates(argv[2:] if argv[1:2] == ["--"] else argv[1:])))
        return DONE
    if argv[0] in ("-V", "--version"):
        _say(f"flashkeep {__version__}")
        return DONE
    try:
        command, arguments = parse(argv)
    except SystemExit:  # argparse has printed the help
        return DONE
    if command.name in ("run", "age", "compare", "serve"):
        arguments["command_line"] = command_line(argv)
    handler = HANDLERS[command.name]
    return handler(arguments)


def command_line(argv: list[str]) -> str:
    """A command as it can be typed again."""
    if all(SAFE.issuperset(word) and word for word in argv):
        return " ".join(["flashkeep", *argv])
    import shlex  # needed for words that a shell would change only

    return shlex.join(["flashkeep", *argv])


def _say(text: str) -> None:
    """Prints text; replaces characters that the terminal or file cannot encode."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain: dict[str, str | int | None] = {
            "µ": "u",
            "Δ": "change",
            "−": "-",
            "–": "-",
            "·": "-",
            "×": "x",
            "…": "...",
            "↓": "",
            "↑": "",
        }
        text = text.translate(str.maketrans(plain)).encode(encoding, "replace").decode(encoding)
    print(text)


def _say_list(rows: Sequence[tuple[str, str]]) -> None:
    """Prints names and descriptions."""
    from ..render import text_list

    _say(text_list.listing(rows, _page()))


def _print_json(value: object) -> None:
    import json

    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(value, indent=1, ensure_ascii=plain))


def _page() -> Page:
    """Standard output; a terminal has colours and a width."""
    if not sys.stdout.isatty():
        return Page()
    colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return Page(colour, os.get_terminal_size(sys.stdout.fileno()).columns or None)


def _hear_termination() -> None:
    import signal

    def stop(_number: int, _frame: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, stop)


def _job(arguments: dict[str, Any], drive: str, traces: Sequence[str]) -> dict[str, object]:
    given = {option.name: arguments.get(option.name) for option in RUN_OPTIONS}  # commands differ in what they have
    # `0 == False`: seed 0 is a seed.
    wanted = {key: value for key, value in given.items() if value is not None and value is not False}
    return {"drive": drive, "traces": traces, **wanted}


def _check_order(command: str, drives: Sequence[str], traces: Sequence[str]) -> None:
    """Refuses a workload in the place of a drive, or the other way round, in the words of the command line."""
    swapped = [word for word in drives if _is_workload(word)] + [word for word in traces if _is_drive(word)]
    if not swapped:
        return
    words = [*traces, *drives] if command == "compare" else [*drives, *traces]
    is_drive = [not _is_workload(word) and (_is_drive(word) or word in drives) for word in words]
    found = [word for word, is_one in zip(words, is_drive, strict=True) if is_one]
    workloads = [word for word, is_one in zip(words, is_drive, strict=True) if not is_one]
    kinds = ", ".join(f"{word!r} is a {'workload' if word in workloads else 'drive'}" for word in words)
    first, second = ("TRACE", "DRIVE") if command == "compare" else ("DRIVE", "TRACE")
    by_place = {"DRIVE": found or ["DRIVE"], "TRACE": workloads or ["TRACE"]}
    raise UsageError(
        f"flashkeep {command}: {kinds}; the {'workload' if first == 'TRACE' else 'drive'} comes first: "
        f"flashkeep {command} {' '.join([*by_place[first], *by_place[second]])}"
    )


def _is_workload(word: str) -> bool:
    """Whether a word can only be a workload: `synth:…`, standard input, or a file that is neither a preset nor TOML."""
    return word.startswith("synth:") or word == "-" or (os.path.isfile(word) and not _is_drive(word))


def _is_trace(word: str) -> bool:
    """The same for directories of traces and patterns of names. A folder of results may be called as a preset is."""
    if _is_workload(word):
        return True
    if os.path.isdir(word):
        return "/" in word or word not in _presets()
    return "*" in word and os.path.isdir(os.path.dirname(word))


def _is_drive(word: str) -> bool:
    """Whether a word can only be a drive: a file in TOML, or a preset with or without keys."""
    name = word.partition(",")[0]
    if name.endswith(".toml"):
        return True
    if "/" in name or word.startswith("synth:") or os.path.exists(word):
        return False
    return name in _presets()


def _presets() -> list[str]:
    import json

    from .. import _flashkeep

    return [entry["name"] for entry in json.loads(_flashkeep.drives())]


def _run(arguments: dict[str, Any]) -> int:
    if not arguments["trace"] and not has_flows(arguments):
        raise UsageError("flashkeep run: TRACE missing; usage: flashkeep run DRIVE TRACE...")
    _check_order("run", [arguments["drive"]], arguments["trace"])
    for option in options_of("writing"):
        if option.kind == "file":
            _check_file(f"flashkeep run: {option.flag}", arguments[option.name])
    (summary,) = _simulate(arguments, [arguments["drive"]], arguments["trace"])
    if arguments["json"]:
        _print_json(summary)
    else:
        from ..render import table  # it would delay the start of other commands

        _say(table.run_report(summary, _page()))
    return _verdict([summary])


def _check_file(option: str, path: str | None) -> None:
    """A file to be written in addition to standard output."""
    if path == "-":
        raise UsageError(f"{option}: standard output is for the summary; name a file")
    if os.path.isdir(path or ""):
        raise UsageError(f"{option}: {path} is a directory; name a file")


def _serve(arguments: dict[str, Any]) -> int:
    from ..serving.answers import served_text
    from ..serving.command import serve

    # Not the run saves the drive at its end, but the server.
    job = _job({**arguments, "save_aged": None}, arguments["drive"], [])
    summary = serve(arguments, job)
    if arguments["json"]:
        _print_json(summary)
    elif not arguments["quiet"]:
        from ..render import table

        _say(table.run_report(summary, _page()))
        _say(served_text(summary["serve"]))
    if problem := summary["serve"].get("not_saved"):
        raise OptionError(problem)
    return _verdict([summary])


def _control(arguments: dict[str, Any]) -> int:
    from ..serving.command import control

    _say(control(arguments))
    return DONE


def _age(arguments: dict[str, Any]) -> int:
    trace, file = arguments["trace"], arguments["file"]
    _check_file("flashkeep age", file)
    if trace or _is_workload(arguments["drive"]):
        _check_order("age", [arguments["drive"]], [trace] if trace else [])
    aged = {**arguments, "save_aged": file, "untimed": True, "out": None}
    (summary,) = _simulate(aged, [arguments["drive"]], [trace] if trace else [])
    if arguments["json"]:
        _print_json(summary)
    else:
        from ..render import table

        _say(table.age_report(file, summary))
    return _verdict([summary])


def _compare(arguments: dict[str, Any]) -> int:
    words = [arguments["trace"], *arguments["drive"]]
    # Words after the first that can only be workloads are further files of the trace.
    first = 0 if has_flows(arguments) else 1
    drives = list(itertools.dropwhile(_is_trace, words[first:]))
    traces = words[: len(words) - len(drives)]
    if "-" in traces:
        raise UsageError("flashkeep compare: each drive reads the trace anew, and standard input can be read only "
                         "once; save it to a file")  # fmt: skip
    if not drives:
        raise UsageError("flashkeep compare: DRIVE missing; usage: flashkeep compare TRACE... DRIVE...")
    _check_order("compare", drives, traces)
    summaries = _simulate(arguments, drives, traces)
    if arguments["json"]:
        _print_json({"runs": summaries})
    else:
        from ..render import table

        _say(table.compare_report(summaries, _page()))
    return _verdict(summaries)


def _verdict(summaries: Sequence[dict[str, Any]]) -> int:
    """The exit code reports lost pages and wrong reads, also if the job injects a failure."""
    lost = any(
        (summary.get("integrity") or {}).get(figure)
        for summary in summaries
        for figure in ("lost_pages", "wrong_reads")
    )
    return DATA_LOST if lost else DONE


def _simulate(arguments: dict[str, Any], drives: Sequence[str], traces: Sequence[str]) -> list[dict[str, Any]]:
    """Runs the workload on each drive, two at a time, and writes the files of `--out`."""
    from ..results.outdir import Outputs
    from .progress import Line
    from .runner import run_jobs

    if arguments.get("series") and not arguments["out"]:
        raise UsageError("flashkeep: --series: needs --out, where the series is written")
    _hear_termination()
    line = Line(arguments["quiet"])
    with Outputs(arguments, drives) as outputs:
        timed = not arguments["untimed"]  # an untimed run has no table of requests
        jobs = [
            (_job(arguments, drive, traces), outputs.tables(at) if timed else None) for at, drive in enumerate(drives)
        ]
        kept: dict[int, dict[str, Any]] | None = {} if outputs.wanted else None
        try:
            summaries = run_jobs(jobs, 2, line, arguments["command_line"], kept)
        except (KeyboardInterrupt, Terminated) as stopped:
            told = outputs.write_interrupted(kept or {})
            raise type(stopped)(*filter(None, [told])) from None
        finally:
            line.clear()
        outputs.write(summaries)
    return summaries


def _check(arguments: dict[str, Any]) -> int:
    import json

    from .. import _flashkeep

    checked = json.loads(_flashkeep.check(arguments["drive"], arguments["set"]))
    del checked["members"], checked["files"]  # a member of an array is checked by its own name
    if arguments["json"]:
        _print_json(checked)
        return DONE
    notes = "".join(f"\nnote: {warning}" for warning in checked["warnings"])
    from ..render import text_list

    _say(f"{text_list.toml(checked['drive'])}\n\n{checked['tree'].rstrip()}{notes}")
    return DONE


def _errors(arguments: dict[str, Any]) -> int:
    from ..errors_of_page import page_errors, text

    found = page_errors(
        arguments["drive"], cycles=arguments["cycles"] or 0.0, days=arguments["days"] or 0.0,
        reads=arguments["reads"] or 0.0, preset=arguments["preset"], page_kib=arguments["page_kib"],
        set=arguments["set"],
    )  # fmt: skip
    if arguments["json"]:
        _print_json(found)
    else:
        _say(text(found, _page()))
    return DONE


def _drives(arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    return _list_or_show(arguments, "drives", _flashkeep.drives, _flashkeep.drive_text)


def _drives_import(arguments: dict[str, Any]) -> int:
    from ..importing import import_file, write_file

    file, out = arguments["file"], arguments["output"]
    draft = import_file(file, arguments["format"], arguments["scenario"])
    if out is not None:
        write_file(out, draft.text(), arguments["force"])
    if arguments["json"]:
        _print_json(draft.to_dict())
    elif out is not None:
        _say("\n".join([f"{out}: written", *draft.report()]))
    else:
        sys.stderr.writelines(f"{line}\n" for line in draft.report())
        _say(draft.text().rstrip())
    return DONE


def _schemes(arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    return _list_or_show(arguments, "schemes", _flashkeep.schemes, _flashkeep.scheme_text)


def _policies(arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    return _list_or_show(arguments, "policies", _flashkeep.policies, _flashkeep.policy_text)


def _conformance(arguments: dict[str, Any]) -> int:
    from ..extending import conformance
    from .progress import Counted

    _hear_termination()
    line = Counted(arguments["quiet"])
    try:
        found = conformance(arguments["file"], arguments["only"], line.draw)
    finally:
        line.clear()
    if arguments["json"]:
        _print_json(found.to_dict())
    else:
        from ..render import text_list

        _say(text_list.conformance(found, _page()))
    return DONE if found.kept else DATA_LOST


def _workloads(arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    return _list_or_show(arguments, "workloads", _flashkeep.workloads, _flashkeep.workload_text)


def _keys(arguments: dict[str, Any]) -> int:
    from ..inputs import keys

    start = arguments["key"] or ""
    found = keys.find(start) if start else keys.every()
    if not found:
        from .options import did_you_mean

        names = [key.name for key in keys.every()]
        last = {name.rpartition(".")[2]: name for name in names}
        near = did_you_mean(start, names) or did_you_mean(last.get(start, start), last.values())
        raise UsageError(f"flashkeep keys: there is no key {start!r}{near or '; flashkeep keys lists all'}")
    if arguments["json"]:
        _print_json({"keys": [key.to_dict() for key in found]})
    elif len(found) == 1 and start:
        (key,) = found
        _say(f"{_page().paint(key.name, BOLD)}\n{key.description}\n")
        _say_list(key.page())
    else:
        _say_list([key.row() for key in found])
    return DONE


def _formats(arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    return _list_or_show(arguments, "formats", _flashkeep.formats, _flashkeep.format_text)


def _list_or_show(arguments: dict[str, Any], what: str, entries: Any, text_of: Any) -> int:
    import json

    if arguments["name"] is not None:
        text = text_of(arguments["name"])
        if arguments["json"]:
            _print_json({"name": arguments["name"], "text": text})
        else:
            _say(text.rstrip())
        return DONE
    known = json.loads(entries())
    if arguments["json"]:
        _print_json({what: known})
    else:
        _say_list([(_set_by(entry), entry["description"]) for entry in known])
    return DONE


def _set_by(entry: dict[str, str]) -> str:
    """A name, or the argument of `--set` if it is the value of a key."""
    return f"{entry['key']}={entry['name']}" if "key" in entry else entry["name"]


def _trace_info(arguments: dict[str, Any]) -> int:
    import json

    from .. import _flashkeep
    from .runner import run_call

    _hear_termination()
    traces, as_json, plot = (arguments.pop(key) for key in ("trace", "json", "plot"))
    if plot is not None and "-" in traces:
        raise UsageError("flashkeep trace info: --plot reads the trace anew, and standard input can be read only once")
    info = json.loads(run_call(lambda: _flashkeep.trace_info(traces, **arguments)))
    if plot is not None:
        from ..render.trace_picture import write

        write(plot, traces, {key: value for key, value in arguments.items() if value is not None})
    if as_json:
        _print_json(info)
    else:
        from ..render import text_list

        _say(text_list.figures(info, _page()))
    return DONE


def _trace_convert(arguments: dict[str, Any]) -> int:
    import json

    from .. import _flashkeep

    _hear_termination()
    traces, out, as_json = (arguments.pop(key) for key in ("in", "out", "json"))
    if out == "-" and as_json:
        raise UsageError("flashkeep trace convert: --json and the trace cannot both go to standard output")
    made = json.loads(_flashkeep.trace_convert(traces, out, **arguments))
    if as_json:
        _print_json(made)
        return DONE
    lines = [f"{out}: {made['requests']:,} requests, {made['from']} to {made['format']}"] if out != "-" else []
    lines += [f"lost: {loss}" for loss in made["lost"]] + [f"note: {warning}" for warning in made["warnings"]]
    _tell(lines, out)
    return DONE


def _tell(lines: list[str], out: str) -> None:
    """Reports the written trace, on standard error if the trace itself goes to standard output."""
    if out == "-":
        sys.stderr.writelines(f"flashkeep: {line}\n" for line in lines)
    else:
        _say("\n".join(lines))


def _trace_synth(arguments: dict[str, Any]) -> int:
    import json

    from .. import _flashkeep

    _hear_termination()
    workload, out, as_json = (arguments.pop(key) for key in ("workload", "out", "json"))
    if out == "-" and as_json:
        raise UsageError("flashkeep trace synth: --json and the trace cannot both go to standard output")
    made = json.loads(_flashkeep.trace_synth(workload, out, **arguments))
    if as_json:
        _print_json(made)
    else:
        lines = [f"{out}: {made['requests']:,} requests, {made['format']}"] if out != "-" else []
        _tell(lines + [f"lost: {loss}" for loss in made.get("lost", ())], out)
    return DONE


def _metrics(arguments: dict[str, Any]) -> int:
    from .. import registry

    start, as_json, as_schema = arguments["path"] or "", arguments["json"], arguments["schema"]
    if as_schema:
        _print_json(registry.schema())
    elif as_json:
        _print_json(registry.read())
    else:
        found = registry.rows(start)
        if not found:
            raise UsageError(f"flashkeep metrics: no figure's path begins with {start!r}; flashkeep metrics lists all")
        _say_list(found)
    return DONE


def _schema(_arguments: dict[str, Any]) -> int:
    from .. import _flashkeep

    _say(_flashkeep.schema().rstrip())
    return DONE


def _reproduce(arguments: dict[str, Any]) -> int:
    from ..reproduce.command import reproduce, runs_of
    from ..sweeping.folder import stored

    _hear_termination()
    try:
        results = reproduce(arguments, (lambda _: None) if arguments["json"] else _say)
    except (KeyboardInterrupt, Terminated) as stopped:
        folder = runs_of(arguments["out"] or arguments["paper"])
        done = len(stored(folder)[0])
        told = f"{folder} has {done} finished runs, and the same command goes on from there" if done else ""
        raise type(stopped)(*filter(None, [told])) from None
    if arguments["json"]:
        _print_json({"papers": results})
    return DONE


def _documents(arguments: dict[str, Any]) -> int:
    from ..reproduce.command import need_libraries

    need_libraries("reproduce documents")
    from ..reproduce.documents import documents

    documents(arguments, (lambda _: None) if arguments["quiet"] else _say)
    return DONE


def _sweep(arguments: dict[str, Any]) -> int:
    from ..sweeping.command import sweep

    _hear_termination()
    return sweep(arguments, _say, _print_json)


def _torture(arguments: dict[str, Any]) -> int:
    from ..torturing.command import run

    _hear_termination()
    return run(arguments, _say, _print_json)


def _fleet(arguments: dict[str, Any]) -> int:
    _check_report("fleet", arguments["report"])
    from ..fleets.command import run

    _hear_termination()
    return run(arguments, _say, _print_json, _page())


def _advise(arguments: dict[str, Any]) -> int:
    _check_report("advise", arguments["report"])
    from ..advising.command import run

    _hear_termination()
    return run(arguments, _say, _print_json, _page())


def _check_report(command: str, path: str | None) -> None:
    """A page that a command writes beside its output."""
    if path is None:
        return
    from ..reproduce.command import need_libraries

    need_libraries(f"{command} --report")
    _check_file(f"flashkeep {command}: --report", path)


def _report(arguments: dict[str, Any]) -> int:
    from ..reproduce.command import need_libraries

    need_libraries("report")
    if arguments["output"] is None:
        raise UsageError("flashkeep report: -o FILE.html missing; usage: flashkeep report DIR... -o FILE.html")
    _check_file("flashkeep report: -o", arguments["output"])
    from ..render.report import report

    _hear_termination()
    told = report(arguments["dir"], arguments["output"], arguments["figures"])
    if not arguments["quiet"]:
        _say(told)
    return DONE


def _completion(arguments: dict[str, Any]) -> int:
    from .completion import script

    _say(script(arguments["shell"]).rstrip())
    return DONE


def _man(_arguments: dict[str, Any]) -> int:
    from .manual import page

    _say(page(__version__).rstrip())
    return DONE


HANDLERS = {
    "run": _run,
    "serve": _serve,
    "control": _control,
    "age": _age,
    "compare": _compare,
    "check": _check,
    "drives": _drives,
    "errors": _errors,
    "drives import": _drives_import,
    "schemes": _schemes,
    "policies": _policies,
    "conformance": _conformance,
    "workloads": _workloads,
    "keys": _keys,
    "formats": _formats,
    "trace info": _trace_info,
    "trace convert": _trace_convert,
    "trace synth": _trace_synth,
    "reproduce": _reproduce,
    "reproduce documents": _documents,
    "sweep": _sweep,
    "torture": _torture,
    "fleet": _fleet,
    "advise": _advise,
    "report": _report,
    "metrics": _metrics,
    "schema": _schema,
    "completion": _completion,
    "man": _man,
}
