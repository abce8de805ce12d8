"""The certificate as one HTML file that needs nothing else: no script, no network, every text escaped."""

from __future__ import annotations

from html import escape

from dpicl_core.certificate.statements import Certificate, Section

COLOURS = {"adadpsyn": "#0072B2", "tang-gaussian": "#D55E00", "tang-noisy-max": "#D55E00", "anchored": "#009E73"}
"""As on every screen."""

_OTHER_COLOUR = "#666666"
_STYLE = """
@page { size: A4; margin: 12mm 14mm; }
* { box-sizing: border-box; }
body { font: 10.5pt/1.38 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 52rem; margin: 1.2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
header { border-left: 6px solid ACCENT; padding-left: 0.8rem; }
h1 { font-size: 1.5em; margin: 0; }
header p { margin: 0.25rem 0 0; }
h2 { font-size: 1em; margin: 0.75rem 0 0.15rem; border-bottom: 1px solid #999; }
p { margin: 0.2rem 0; }
ul { margin: 0.2rem 0; padding-left: 1.2rem; }
li { margin: 0.12rem 0; }
.badge { display: inline-block; background: #1b6e3c; color: #fff; border-radius: 4px; padding: 0 0.45rem;
  font-size: 0.85em; margin-top: 0.3rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@media print { body { font-size: 8.7pt; max-width: none; margin: 0; padding: 0; } section { break-inside: avoid; }
  header { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def as_html(certificate: Certificate) -> str:
    """The page; prints on one sheet of A4."""
    style = _STYLE.replace("ACCENT", COLOURS.get(certificate.mechanism, _OTHER_COLOUR))
    sections = "".join(map(_section, certificate.sections))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(certificate.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{_text(certificate.title)}</h1>\n<p>{_text(certificate.lead)}</p>\n"
        '<span class="badge">DP-released</span>\n</header>\n'
        f"<main>\n{sections}</main>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    if section.listed:
        points = "".join(f"<li>{_text(line)}</li>\n" for line in section.lines)
        body = f"<ul>\n{points}</ul>\n"
    else:
        body = "".join(f"<p>{_text(line)}</p>\n" for line in section.lines)
    return f"<section>\n<h2>{_text(section.title)}</h2>\n{body}</section>\n"


def _text(words: str) -> str:
    """Letters alone: no markup, no control characters."""
    return escape("".join(character if character.isprintable() else " " for character in words))
