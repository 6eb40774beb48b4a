"""Completion in a shell: the words that may be at the cursor, and the scripts that ask for it.

The scripts know nothing: at each press of the key they call `flashkeep complete -- WORDS…`, whose last word is the one
at the cursor. So presets, keys, schemes and options are always those of the installed version.
"""

from __future__ import annotations

import json

from .. import _flashkeep
from .options import COMMANDS, UsageError, did_you_mean, find_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .options import Command, Option

SCRIPTS = {
    "bash": r"""# bash completion of flashkeep
_flashkeep() {
    local line=${COMP_LINE:0:COMP_POINT} words prefix
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    # bash divides words at = and : itself, and inserts what stands behind them.
    prefix=${words[-1]%"${words[-1]##*[=:]}"}
    mapfile -t COMPREPLY < <(command flashkeep complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    [[ ${#COMPREPLY[@]} -eq 1 && -z ${COMPREPLY[0]} ]] && COMPREPLY=()
    [[ ${COMPREPLY[0]-} == *[=,] ]] && compopt -o nospace
}
complete -o default -F _flashkeep flashkeep
""",
    "zsh": r"""#compdef flashkeep
_flashkeep() {
    local -a found open whole
    found=("${(@f)$(command flashkeep complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=(${found:#})
    open=(${(M)found:#*[=,]})
    whole=(${found:#*[=,]})
    (( $#open )) && compadd -S '' -- $open
    (( $#whole )) && compadd -- $whole
    (( $#found )) || _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _flashkeep "$@"; else compdef _flashkeep flashkeep; fi
""",
    "fish": r"""# fish completion of flashkeep
function __flashkeep_complete
    set -l words (commandline -opc)
    set -e words[1]
    command flashkeep complete -- $words (commandline -ct) 2>/dev/null
end
complete -c flashkeep -a '(__flashkeep_complete)'
""",
}


def script(shell: str) -> str:
    """The completion script of a shell."""
    if shell not in SCRIPTS:
        hint = did_you_mean(shell, SCRIPTS) or f"; there are {', '.join(SCRIPTS)}"
        raise UsageError(f"flashkeep completion: there is no script for {shell!r}{hint}")
    return SCRIPTS[shell]


def candidates(words: list[str]) -> list[str]:
    """The words that may replace the last word; none where a file may."""
    *before, at = words or [""]
    return sorted({word for word in _candidates(before, at) if word.startswith(at)})


def _candidates(before: list[str], at: str) -> Iterable[str]:
    known = [command.name for command in COMMANDS]
    if not before:
        return [*(name.partition(" ")[0] for name in known), "--help", "--version"]
    try:
        command, rest = find_command(before)
    except UsageError:  # no command, or only the first word of one
        return [name.partition(" ")[2] for name in known if before == [name.partition(" ")[0]] and " " in name]
    options = {flag: option for option in command.options for flag in (option.flag, *option.short)}
    if rest and rest[-1] in options and options[rest[-1]].metavar is not None:
        return _values(options[rest[-1]], at)
    if at.startswith("-"):
        return [*options, "--help"]
    within = [name.partition(" ")[2] for name in known if name.startswith(f"{command.name} ") and not rest]
    return [*within, *_place(command, rest, options, at)]


def _place(command: Command, rest: list[str], options: dict[str, Option], at: str) -> Iterable[str]:
    """The words for the argument at the cursor."""
    taken, skip = 0, False
    for word in rest:
        if skip or word.startswith("-"):
            skip = not skip and word in options and options[word].metavar is not None
        else:
            taken += 1
    places = command.places.split()
    if not places:
        return []
    place = places[min(taken, len(places) - 1)]
    if taken >= len(places) and not place.endswith("..."):
        return []
    name = place.strip("[].")
    if name == "NAME":
        return _names(command.name)
    known: dict[str, Callable[[str], Iterable[str]]] = {
        "DRIVE": _drives, "ARRAY": _arrays, "TRACE": _workloads, "WORKLOAD": _workloads, "KEY": lambda _: _keys(),
        "PAPER": lambda _: _papers(), "SHELL": lambda _: SCRIPTS, "PATH": lambda _: _figures(),
    }  # fmt: skip
    return known[name](at) if name in known else []


def _values(option: Option, at: str) -> Iterable[str]:
    """The values of an option."""
    metavar = option.metavar or ""
    if option.flag == "--set":
        return _pairs(at)
    if option.flag in ("--format", "--to"):
        return _names("formats")
    if option.flag == "--schemes":
        return _schemes(at)
    known = {"DRIVE": _drives, "N*DRIVE": _several, "TRACE": _workloads}
    if metavar in known:
        return known[metavar](at)
    words = metavar.split("|")
    return words if len(words) > 1 and all(word.islower() for word in words) else []


def _names(command: str) -> list[str]:
    """What a list command lists."""
    lists = {"drives": _flashkeep.drives, "schemes": _flashkeep.schemes, "policies": _flashkeep.policies,
             "formats": _flashkeep.formats, "workloads": _flashkeep.workloads}  # fmt: skip
    return [entry["name"] for entry in json.loads(lists[command]())] if command in lists else []


def _drives(at: str) -> Iterable[str]:
    """Presets, and the keys after one."""
    drive, comma, pair = at.rpartition(",")
    if not comma:
        return _names("drives")
    return [f"{drive},{found}" for found in _pairs(pair)]


def _several(at: str) -> Iterable[str]:
    """`8*tlc-client`, and the keys after it."""
    count, star, drive = at.partition("*")
    count = count if star or count.isdigit() else "8"
    return [f"{count}*{found}" for found in _drives(drive)]


def _arrays(at: str) -> Iterable[str]:
    """Presets, `8*tlc-client` once there is a number, and schemes after it."""
    if not at[:1].isdigit():
        return _drives(at)
    drives, colon, _ = at.rpartition(":")
    # The names of presets may begin with a digit, too.
    return [f"{drives}:{name}" for name in _scheme_names()] if colon else [*_drives(at), *_several(at)]


def _schemes(at: str) -> Iterable[str]:
    """Schemes with commas between them, each once."""
    taken, comma, _ = at.rpartition(",")
    return [f"{taken}{comma}{name}" for name in _scheme_names() if name not in taken.split(",")]


def _scheme_names() -> list[str]:
    from ..fleets.spec import ALIASES, STRIPED

    return [*_names("schemes"), *ALIASES, *STRIPED]


def _workloads(at: str) -> Iterable[str]:
    """Synthetic workloads, and the keys after one. bash shows files where nothing is found."""
    text, comma, _ = at.rpartition(",")
    if not comma:
        return [f"synth:{name}" for name in _names("workloads")] if at else ["synth:"]
    try:
        page = _flashkeep.workload_text(text.partition(",")[0])
    except _flashkeep.OptionError:
        return []
    keys = page.partition("\n# Keys\n")[2].partition("\n# ")[0].splitlines()
    return [f"{text},{line.split()[0]}=" for line in keys if line.startswith("  ")]


def _pairs(at: str) -> Iterable[str]:
    """`KEY=`, and `KEY=VALUE` where the values are words."""
    from ..inputs.keys import every

    name, equals, _ = at.partition("=")
    if equals:
        return [f"{name}={word}" for key in every() if key.name == name for word in key.values]
    return [f"{key.name}=" for key in every()]


def _keys() -> list[str]:
    from ..inputs.keys import every

    return [key.name for key in every()]


def _papers() -> list[str]:
    from ..reproduce import PAPERS

    return [*PAPERS, "all"]


def _figures() -> list[str]:
    return [metric["path"] for metric in json.loads(_flashkeep.metrics())["metrics"]]
