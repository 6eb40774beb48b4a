"""The resources that a page would load from other places."""

from __future__ import annotations

import re


def loaded_by(page: str) -> list[str]:
    """Addresses, script files, style sheets and frames in a page; names of vocabularies (xmlns) are none."""
    told = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", page)
    loads = re.findall(r"https?://[^\s\"'<]*|<script\s|@import|<iframe|<object", told)
    loads += [at for at in re.findall(r'(?:src|href)="([^"]*)"', told) if not at.startswith(("#", "data:"))]
    return loads + [at for at in re.findall(r"url\(([^)]*)\)", told) if not at.strip("\"'").startswith("#")]
