"""The certificate as plain text."""

from __future__ import annotations

import textwrap

from dpicl_core.certificate.statements import Certificate

WIDTH = 100


def as_text(certificate: Certificate) -> str:
    """Lines of at most WIDTH characters, hashes and long words whole."""
    lines = [certificate.title, "=" * len(certificate.title), "", *_wrapped(certificate.lead)]
    for section in certificate.sections:
        lines += ["", section.title, "-" * len(section.title)]
        for line in section.lines:
            lines += _wrapped(line, bullet=section.listed)
    return "\n".join(lines) + "\n"


def _wrapped(words: str, *, bullet: bool = False) -> list[str]:
    shown = "".join(character if character.isprintable() else " " for character in words)
    first, rest = ("- ", "  ") if bullet else ("", "")
    return textwrap.wrap(
        shown,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
