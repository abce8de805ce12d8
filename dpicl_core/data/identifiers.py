"""Columns that look as if they name persons: a hint to the steward, never a decision."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpicl_core.data.dataset import Level, Notice
from dpicl_core.data.wording import counted, is_blank, listed, shorten

_PERSON_WORDS = frozenset(
    (
        *("patient", "person", "user", "username", "customer", "client", "member", "author", "employee", "student"),
        *("sender", "email", "phone", "mobile", "ssn", "mrn", "account", "subscriber", "caller", "citizen"),
        *("resident", "participant", "surname", "applicant", "guest", "tenant"),
    )
)
_NAME_HEADERS = frozenset(("name", "full name", "first name", "last name", "e mail", "nhs number"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"(?!\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$)\+?\(?\d[\d ()/-]{6,19}")
_CODE = re.compile(r"[A-Za-z]{1,4}[-_ ]?\d{1,12}|\d{5,12}")
_FULL_NAME = re.compile(r"[^\W\d_][\w'’-]+,? (?:[^\W\d_]\.? )?[^\W\d_][\w'’-]+")
_ENOUGH_ROWS = 20
_MOST = 0.8


def person_like_notices(names: Sequence[str], rows: Sequence[Sequence[str]], *, show_names: bool) -> list[Notice]:
    """One warning for the columns that look like person identifiers, judged by name and by the first rows.

    names, rows: of the columns that are neither text, label nor person. show_names: whether the header may be quoted.
    """
    likely = [
        shorten(name) if show_names else f"number {at + 1} of those not in use"
        for at, name in enumerate(names)
        if _named_like_person(name) or _valued_like_persons([row[at] for row in rows])
    ]
    if not likely:
        return []
    sentence = (
        f"{counted(len(likely), 'column')} not in use may name persons ({listed(likely)}): a person with several rows "
        "is protected one row at a time only, unless the column is chosen as the person column."
    )
    return [Notice("person-like-column", sentence, (), len(likely), Level.WARNING)]


def _named_like_person(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    singular = {word.removesuffix("s") for word in words} | set(words)
    return bool(singular & _PERSON_WORDS) or " ".join(words) in _NAME_HEADERS


def _valued_like_persons(values: Sequence[str]) -> bool:
    filled = [value.strip() for value in values if not is_blank(value)]
    if len(filled) < _ENOUGH_ROWS:
        return False
    distinct = set(filled)
    needed = _MOST * len(distinct)
    if sum(_EMAIL.fullmatch(value) is not None for value in distinct) >= needed:
        return True
    if len(distinct) >= 10 and sum(_FULL_NAME.fullmatch(value) is not None for value in distinct) >= needed:
        return any(value != value.lower() for value in distinct)
    # codes that repeat are keys of somebody; codes that never repeat only number the rows
    repeated = 5 <= len(distinct) < len(filled)
    return (
        repeated
        and sum(_CODE.fullmatch(value) is not None or _PHONE.fullmatch(value) is not None for value in distinct)
        >= needed
    )
