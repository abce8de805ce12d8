"""Passages that look like somebody's data: patterns, telephone numbering plans, and numbers with check digits.

Patterns cannot know whether a passage is real: the language model may have invented it, or learnt it elsewhere. They
find nothing that has no fixed form, a name without a title for example.
Libraries: phonenumbers (Apache-2.0), python-stdnum (LGPL-2.1 or later, used as it comes).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

PHONE_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "IN", "AU", "BR", "PL", "SE", "CN", "JP")
"""National forms are read as in these countries; international ones (with +) are read everywhere."""


@dataclass(frozen=True, slots=True)
class Match:
    """what: in words, with its article. span: start and end in characters."""

    what: str
    span: tuple[int, int]


def personal_data(text: str) -> tuple[Match, ...]:
    """All matches in order of their place; of two that overlap, the more telling one."""
    taken: list[Match] = []
    for search in (_patterns, _codes, _addresses_of_machines, _phones, _checked_numbers, _plain_numbers):
        for match in search(text):
            if not any(match.span[0] < other.span[1] and other.span[0] < match.span[1] for other in taken):
                taken.append(match)
    return tuple(sorted(taken, key=lambda match: match.span))


_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an e-mail address", re.compile(r"[\w.%+-]+\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\.[\w-]+)+")),
    ("a web address", re.compile(r"(?:https?://|www\.)[^\s<>\"']+", re.IGNORECASE)),
    ("an account name", re.compile(r"(?<![\w@])@\w{2,}")),
    (
        "a person's name with a title",
        re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau|Mme|Sr|Sra)\.?\s+[A-Z]\w+(?:[\s-][A-Z]\w+)?"),
    ),
    (
        "a street address",
        re.compile(
            r"\b\d{1,5}[A-Za-z]?,?\s+(?:[A-Z][\w.'-]*\s+){1,4}"
            r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Square|Way|Place)\b"
            r"|\b[A-ZÄÖÜ]\w+(?:straße|strasse|weg|platz|gasse)\s+\d{1,4}\b"
        ),
    ),
    (
        "a date",
        re.compile(r"(?<![\d.])(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}-\d{2}-\d{2})(?![\d.]*\d)"),
    ),
)


def _patterns(text: str) -> Iterator[Match]:
    for what, pattern in _FORMS:
        yield from (Match(what, found.span()) for found in pattern.finditer(text))


_DIGITS = re.compile(r"(?<![\w.])\d(?:[ .\-/]?\d){7,18}(?![\w])")
_CODES = re.compile(r"(?<!\w)[A-Z0-9](?:[ -]?[A-Z0-9]){7,33}(?!\w)")
_HYPHENATED = re.compile(r"\d{3}-\d{2}-\d{4}")


def _codes(text: str) -> Iterator[Match]:
    """Numbers whose form says which system they belong to."""
    from stdnum import iban, luhn  # these tables are only read when there is something to check
    from stdnum.us import ssn

    for found in _CODES.finditer(text):
        code, digits = found.group(), re.sub(r"\D", "", found.group())
        if code[:2].isalpha() and iban.is_valid(code):
            yield Match("a bank account number (IBAN)", found.span())
        elif len(code) - code.count(" ") - code.count("-") == len(digits) and 13 <= len(digits) <= 19:
            if len(set(digits)) > 1 and luhn.is_valid(digits):
                yield Match("a payment card number", found.span())
        elif _HYPHENATED.fullmatch(code) and ssn.is_valid(code):
            yield Match("a US social security number", found.span())


def _checked_numbers(text: str) -> Iterator[Match]:
    """Numbers whose check digits fit one of the common systems; about one in three others fits one by chance."""
    for pattern in (_CODES, _DIGITS):
        for found in pattern.finditer(text):
            for what, valid in _national_systems():
                if valid(found.group()):
                    yield Match(what, found.span())
                    break


def _national_systems() -> Iterable[tuple[str, Callable[[str], bool]]]:
    from stdnum.be import nn
    from stdnum.br import cpf
    from stdnum.ca import sin
    from stdnum.de import idnr
    from stdnum.es import dni, nie
    from stdnum.fr import nir
    from stdnum.gb import nhs
    from stdnum.in_ import aadhaar
    from stdnum.it import codicefiscale
    from stdnum.nl import bsn
    from stdnum.pl import pesel
    from stdnum.se import personnummer

    return (
        ("a UK NHS number", nhs.is_valid),
        ("a Canadian social insurance number", sin.is_valid),
        ("a German tax number", idnr.is_valid),
        ("a French social security number", nir.is_valid),
        ("a Spanish identity number", dni.is_valid),
        ("a Spanish identity number of a foreigner", nie.is_valid),
        ("an Italian tax code", codicefiscale.is_valid),
        ("a Dutch citizen number", bsn.is_valid),
        ("a Polish PESEL number", pesel.is_valid),
        ("a Brazilian CPF number", cpf.is_valid),
        ("an Indian Aadhaar number", aadhaar.is_valid),
        ("a Swedish personal number", personnummer.is_valid),
        ("a Belgian national number", nn.is_valid),
    )


_MACHINES = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*)(?![\w:])")


def _addresses_of_machines(text: str) -> Iterator[Match]:
    for found in _MACHINES.finditer(text):
        try:
            ipaddress.ip_address(found.group())
        except ValueError:
            continue
        yield Match("an internet address of a machine", found.span())


def _phones(text: str) -> Iterator[Match]:
    if sum(character.isdigit() for character in text) < 5:
        return  # the matcher is slow, and most texts hold no number
    import phonenumbers

    for region in PHONE_REGIONS:
        for found in phonenumbers.PhoneNumberMatcher(text, region):
            yield Match("a telephone number", (found.start, found.end))


_LONG_NUMBER = re.compile(r"(?<!\w)(?:[A-Za-z]{1,3}-?)?\d(?:[ \-/]?\d){5,}(?!\w)")


def _plain_numbers(text: str) -> Iterator[Match]:
    yield from (Match("a number that may identify somebody", found.span()) for found in _LONG_NUMBER.finditer(text))
