"""A document that leaves before anybody has signed it: recorded first, then handed out."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.export import document_bytes
from dpicl_core.files import write_atomically
from dpicl_core.ledger import Ledger, record_decision


def recorded_bytes(document: DemonstrationsDocument, ledger: Ledger, *, run_id: str | None, actor: str) -> bytes:
    """The bytes of the demonstrations JSON; who took them and their SHA-256 are in the ledger before they are returned.

    Raises LedgerError where that cannot be recorded.
    """
    content = document_bytes(document)
    details = {
        "format": "json",
        "sha256": hashlib.sha256(content).hexdigest(),
        "document_sha256": document.sha256,
    }
    record_decision(ledger, "exported", actor=actor, run_id=run_id, details=details)
    return content


def write_recorded(
    document: DemonstrationsDocument, path: Path, ledger: Ledger, *, run_id: str | None, actor: str
) -> None:
    """Write the JSON in one piece, once the ledger knows that it leaves. Raises ExportError with the reason where the
    file cannot be written."""
    write_atomically(path, recorded_bytes(document, ledger, run_id=run_id, actor=actor))
