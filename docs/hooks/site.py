"""Adds the pages that are made, and those in the root of the repository, and leads the links of all to their pages."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from flashkeep import _flashkeep
from mkdocs.structure.files import File
from reference import pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages in the root of the repository, and their paths in the site."""

LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the manual pages of each kind after their entry in the navigation."""
    made = [(path, title) for path, title, _ in pages()]

    def filled(entry: Any) -> Any:
        if isinstance(entry, list):
            return [filled(one) for one in entry]
        if not isinstance(entry, dict):
            return entry
        return {title: _folder(made, to) if _is_folder(to) else filled(to) for title, to in entry.items()}

    config.nav = filled(config.nav)
    return config


def _is_folder(to: object) -> bool:
    return isinstance(to, str) and to.endswith("/")


def _folder(made: list[tuple[str, str]], folder: str) -> list[Any]:
    index = f"{folder}index.md"
    return [index, *({title: path} for path, title in made if path.startswith(folder) and path != index)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are no files of `docs`."""
    root = os.path.dirname(config.config_file_path)
    for name, path in ROOT.items():
        with open(os.path.join(root, name), encoding="utf-8") as file:
            files.append(File.generated(config, path, content=file.read()))
    for path, _, text in pages():
        files.append(File.generated(config, path, content=text))
    schema = _flashkeep.schema()
    files.append(File.generated(config, "reference/drive.schema.json", content=schema))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links of the repository to pages of the site, or else to the repository."""
    source = next((name for name, path in ROOT.items() if path == page.file.src_uri), f"docs/{page.file.src_uri}")
    markdown = with_lists(markdown)
    if source.startswith("docs/reference/"):
        return markdown
    here, site = os.path.dirname(source), os.path.dirname(page.file.src_uri)
    root = os.path.dirname(config.config_file_path)

    def led(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(here, match[2]))
        anchor = match[3] or ""
        inside = ROOT.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if inside and files.get_file_from_path(inside):
            return f"{match[1]}{os.path.relpath(inside, site or '.')}{anchor})"
        if os.path.exists(os.path.join(root, target)):
            kind = "tree" if os.path.isdir(os.path.join(root, target)) else "blob"
            return f"{match[1]}{config.extra['repository']}/{kind}/main/{target}{anchor})"
        return match[0]  # mkdocs reports it

    return LINK.sub(led, markdown)


def with_lists(markdown: str) -> str:
    """Puts a blank line before each list: the Markdown of mkdocs needs it, that of repositories does not."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= line.lstrip().startswith("```")
        before = lines[-1] if lines else ""
        starts = re.match(r"(?:[-*]|\d+\.) ", line) and not re.match(r"\s|(?:[-*]|\d+\.) |$", before)
        if starts and not fenced:
            lines.append("")
        lines.append(line)
    return "\n".join(lines)
