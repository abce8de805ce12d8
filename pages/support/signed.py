"""What can be done with a signed file: its words, and its downloads, recorded in the ledger before they are given."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpicl_core.certificate import as_html, as_text, certificate_for
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.export import document_bytes
from dpicl_core.formats import render
from dpicl_core.ledger import Ledger
from dpicl_core.sign_off import record_export
from dpicl_core.verification import Verdict, plain_words, verify
from pages.support.text import plain

FILES = (
    ("json", "JSON, signed", "demonstrations.json", "application/json"),
    ("prompt", "Prompt text", "prompt.txt", "text/plain"),
    ("jsonl", "Messages (JSONL)", "messages.jsonl", "application/jsonl"),
    ("certificate", "Certificate to print (HTML)", "certificate.html", "text/html"),
    ("certificate-text", "Certificate (text)", "certificate.txt", "text/plain"),
)
_VERIFIED = "vet_verified"


def verdict_of(document: DemonstrationsDocument) -> Verdict:
    """The verdict on a signed file; the last one is kept, since the papers' accountant takes seconds."""
    kept: Verdict | None = st.session_state.get(_VERIFIED)
    if kept is None or kept.document != document:
        with st.spinner("Recomputing every number of the file", show_time=False):
            kept = st.session_state[_VERIFIED] = verify(document)
    return kept


def content_of(name: str, verdict: Verdict) -> bytes:
    """The bytes of one of FILES. Raises ExportError for a certificate of a file that does not hold."""
    document = verdict.document
    if name == "json":
        return document_bytes(document)
    if name == "certificate":
        return as_html(certificate_for(verdict)).encode()
    if name == "certificate-text":
        return as_text(certificate_for(verdict)).encode()
    return render(document, name).encode()


def downloads(document: DemonstrationsDocument, book: Ledger) -> None:
    """A button for every form of the file."""
    verdict = verdict_of(document)
    with st.container(horizontal=True, gap="small", key="vet_downloads"):
        for at, (name, label, file_name, mime) in enumerate(FILES):
            st.download_button(
                label,
                _recorded(name, verdict, book),
                file_name=file_name,
                mime=mime,
                key=f"download_{name}",
                type="primary" if at == 0 else "secondary",
                icon=":material/download:",
                on_click="ignore",  # a rerun would put other buttons in place of these, and lose a click on them
            )
    st.caption("Each download is recorded in the ledger with its SHA-256 and the reviewer's name.")


def certificate_words(document: DemonstrationsDocument) -> None:
    """The certificate as it reads, without its layout."""
    certificate = certificate_for(verdict_of(document))
    plain(certificate.lead)
    for section in certificate.sections:
        st.markdown(f"**{section.title}**")
        for line in section.lines:
            plain(f"• {line}" if section.listed else line)


def verdict_words(verdict: Verdict) -> None:
    """`verify`'s verdict, a line for each statement or finding."""
    if verdict.holds:
        for line in plain_words(verdict).splitlines():
            plain(line)
        return
    for problem in verdict.problems:
        plain(f"{problem[:1].upper()}{problem[1:]}.")


def _recorded(name: str, verdict: Verdict, book: Ledger) -> Callable[[], bytes]:
    """Makes the bytes when the button is pressed; nothing is handed out that could not be recorded."""

    def make() -> bytes:
        content = content_of(name, verdict)
        record_export(book, verdict.document, name, content)
        return content

    return make
