"""Documents name files that exist, are short where readers are in a hurry, and use plain words."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest
from conftest import ROOT
from flashkeep.cli.options import COMMANDS

pytestmark = pytest.mark.xdist_group("documents")

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]

EXTENSIONS = ("cff", "csv", "in", "ipynb", "jinja", "json", "lock", "md", "py", "rs", "svg", "toml", "txt", "yml")
"""What a file of the repository ends in; a name with one of them, or with a slash, is a path."""

BASES = ("", "crates/flashkeep/src", "crates/flashkeep/tests")
"""Folders to which paths in documents are relative, besides the folder of the document."""

NOT_OF_THE_REPOSITORY = {
    ".venv/bin", ".venv/bin/flashkeep", "site/index.html", # a build
    "failed/requests.parquet", "results/series.parquet", "sweep/results.csv", # outputs
    "results.csv", "summary.json", "timings.csv", "trials.csv",
    "./array.toml", "mine.py", "plan.toml", "ten.toml", # a reader's own
}  # fmt: skip
"""Files that documents mention and that a build, a run or a reader writes."""


def prose(text: str) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^( *)(```|~~~).*?^\1\2 *$", "", text, flags=re.MULTILINE | re.DOTALL)


IS_PATH = re.compile(rf"(?=.*[a-z])(?=.*/|.*[\w]\.(?:{'|'.join(EXTENSIONS)})$)[\w.-]*(?:/[\w.-]+)*/?")


def named_paths(line: str) -> list[str]:
    """Paths in backquotes and in links, without anchors. Capitals are placeholders, such as `formats/NAME.rs`."""
    quoted = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", line)
    linked = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", line)
    return [*linked, *(one for one in quoted if IS_PATH.fullmatch(one) and not re.search(r"\b[A-Z]+\b", one))]


def test_paths_are_found() -> None:
    line = "| `schemes/` | `mod.rs`, `a/b`, `fk.run`, `1/0`, `.svg`, `NAME.rs`, `--out DIR`, [x](docs/x.md#y), `read`"
    assert named_paths(line) == ["docs/x.md", "schemes/", "mod.rs", "a/b"]
    assert prose("a\n```\n`b/c`\n```\nd") == "a\n\nd"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_only_files_that_exist(document: Path) -> None:
    missing = []
    for line in prose(document.read_text(encoding="utf-8")).splitlines():
        names = named_paths(line)
        folders = [document.parent, *(ROOT / base for base in BASES)]
        if line.startswith("| `") and names:  # a row about a folder: the rest of it is about what is in there
            folders += [folder / names[0] for folder in folders]
        missing += [name for name in names if not any((folder / name).exists() for folder in folders)]
    assert set(missing) <= NOT_OF_THE_REPOSITORY


def test_files_that_are_not_of_the_repository_are_mentioned() -> None:
    mentioned = {name for path in DOCUMENTS for name in named_paths(prose(path.read_text(encoding="utf-8")))}
    assert mentioned >= NOT_OF_THE_REPOSITORY


def test_the_path_of_a_request_names_functions_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("## How a request travels")[1].split("\n## ")[0]
    named = re.findall(r"`([A-Z]\w+)::(\w+)`", section)
    assert len(named) > 20
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "crates").glob("*/src/**/*.rs")]

    def exists(owner: str, name: str) -> bool:
        implements = re.compile(rf"^(pub )?(impl|trait)\b[^{{;]*\b{owner}\b", re.MULTILINE)
        return any(implements.search(source) and re.search(rf"^    .*fn {name}\b", source, re.MULTILINE)
                   for source in sources)  # fmt: skip

    assert not [f"{owner}::{name}" for owner, name in named if not exists(owner, name)]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_first_documents_are_short(name: str) -> None:
    assert (ROOT / name).stat().st_size < 12_000


PLAIN_EVERYWHERE = (
    (r"\bnobody\b", "undetected, not chosen, no user"),
    (r"\bwhoever\b", "users that"),
    (r"\bso (many|much|long)\b", "the number or the time itself"),
    (r"(?<!-)\b(stands?|stood|standing)\b(?!-)", "is, is written, represents"),
    (r"\b(is|are|was|were) to be\b", "must be, will be"),
    (r"\b(go|goes|going|went) on\b", "continue"),
    (r"\banew\b", "again"),
    (r"\b(leaf|raw leaves|the leaves)\b", "backend, backends"),
    (r"\braw pages?\b", "physical pages"),
    (r"\bput(s)? together\b", "build, rewrite"),
    (r"\bcannot be meant\b", "is invalid, is impossible"),
    (r"\b(hear|hears|heard) of\b", "is notified of"),
)
"""Phrases that documents and comments of the code avoid, and what says the same plainly."""

PLAIN_WORDS = (
    *PLAIN_EVERYWHERE,
    (r"\b(go|goes|going|stands?|waits?|queues?|comes?|writes?) behind\b", "after"),
    (r"\b[Mm]ended\b", "fixed"),
    (r"\b(is|are) no findings?\b", "is not a defect"),
    (r"\bone too many\b", "unexpected argument"),
    (r"\bknows? of\b", "undetected"),
    (r"\bforeign\b", "external, user's, other"),
    (r"^(?!\|)(.*[.:;] |[-*] |)(\*\*|)What (is|was) ", "name the thing, then the verb"),
    (r"\| (W|w)hat it (is|does|has) \|", "meaning, effect"),
    (r"\b(is|are|was|were) (turned away|told)\b", "is refused, is notified"),
    (r"\breads of nothing\b", "reads of unmapped pages"),
    (r"\b(obituary|doomed|bury|buried)\b", "end of life, will fail, fail"),
)
"""Phrases that documents avoid, and what says the same plainly."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_use_plain_words(document: Path) -> None:
    text = prose(document.read_text(encoding="utf-8"))
    found = [
        f"{match[0].strip()!r} in {line!r}: {better}"
        for line in text.splitlines()
        for phrase, better in PLAIN_WORDS
        if (match := re.search(phrase, line))
    ]
    assert not found


def test_help_uses_plain_words() -> None:
    told = [text for command in COMMANDS for text in (command.help, *(option.help for option in command.options))]
    found = [f"{phrase} in {text!r}: {better}" for text in told for phrase, better in PLAIN_WORDS
             if re.search(phrase, text)]  # fmt: skip
    assert not found


PLAIN_COMMENTS = (
    *PLAIN_EVERYWHERE,
    (r"\bwhatever\b", "any, all"),
    (r"\bbehind\b(?!`)", "after, below"),
    (r"\btold\b", "is notified, is reported, is distinguished"),
    (r"^(.*[.:;] |)What (is|was|are|were)\b", "name the thing, then the verb"),
)
"""Phrases that comments of the code avoid, and what says the same plainly."""

USER_TEXTS = {
    "crates/flashkeep/src/device/port/options.rs", "crates/flashkeep/src/disk/options.rs",
    "crates/flashkeep/src/flash/errors/mod.rs",
    "crates/flashkeep/src/metrics/rebuilds.rs", "crates/flashkeep/src/metrics/sections.rs",
    "crates/trace/src/info.rs", "python/flashkeep/choices.py",  # descriptions of keys and figures
    "crates/flashkeep/src/disk/scheduler/look.rs", "crates/flashkeep/src/mapping/dftl.rs",
    "crates/flashkeep/src/schemes/dvs.rs", "crates/flashkeep/src/schemes/published/griffin.rs",
    "crates/trace/src/formats/blkparse.rs", "crates/trace/src/formats/oracle_general.rs",  # manual pages
}  # fmt: skip
"""Files whose doc comments are descriptions of keys and figures, or manual pages, that releases have."""


def comments(path: Path) -> list[str]:
    """The lines of comments, doc comments and docstrings of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return [
            found[1]
            for line in text.splitlines()
            if (found := re.search(r"(?:^|\s)//[/!]?(?:\s+(.*))?$", line)) and found[1]
        ]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kept = [one.string for one in tokens if one.type == tokenize.COMMENT or one.string.startswith('"""')]
    return [line.strip('#" ') for string in kept for line in string.splitlines()]


def test_comments_are_found(tmp_path: Path) -> None:
    (rust := tmp_path / "a.rs").write_text('//! One.\nlet a = "http://b"; // two\n///\n    /// Three.\n')
    (python := tmp_path / "a.py").write_text('"""One.\n\nTwo."""\na = "b"  # three\n')
    assert comments(rust) == ["One.", "two", "Three."]
    assert comments(python) == ["One.", "", "Two.", "three"]


def test_comments_use_plain_words() -> None:
    sources = [*sorted((ROOT / "crates").glob("**/*.rs")), *sorted((ROOT / "python").glob("**/*.py"))]
    named = {path.relative_to(ROOT).as_posix(): path for path in sources if "target" not in path.parts}
    assert named.keys() >= USER_TEXTS
    found = [
        f"{name}: {match[0].strip()!r} in {line!r}: {better}"
        for name, path in named.items()
        if name not in USER_TEXTS
        for line in comments(path)
        for phrase, better in PLAIN_COMMENTS
        if (match := re.search(phrase, line))
    ]
    assert not found
