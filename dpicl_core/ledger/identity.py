"""Who this installation is: its home folder, the ledger secret, and the keys made from it.

The secret is what lets the ledger recognise a row without holding it. Machines that share a ledger share this one
file; it never stands in the database.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from dpicl_core.errors import LedgerError

SECRET_FILE = "secret.key"
DATABASE_FILE = "ledger.sqlite3"
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """home: folder of this installation's private files. secret: 32 bytes, the root of every key."""

    home: Path
    secret: bytes = field(repr=False)

    def key(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose; keys of two purposes tell nothing about each other."""
        return hmac.new(self.secret, purpose.encode(), hashlib.sha256).digest()

    def check_value(self, ledger_id: str) -> str:
        """What a ledger stores to recognise the machines that hold its secret."""
        return keyed_hash(self.key("secret check"), ledger_id)


def keyed_hash(key: bytes, text: str) -> str:
    """HMAC-SHA256 in hexadecimal; lone surrogates are kept apart, not refused."""
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def head_code(identity: Identity, ledger_id: str, count: int, last: str) -> str:
    """The code of the head, so that the chain cannot be cut short by editing a number."""
    return keyed_hash(identity.key("head"), f"{ledger_id}\n{count}\n{last}")


def home_folder() -> Path:
    """`DPICL_HOME`, else the platform's folder for user data. Not created here."""
    chosen = os.environ.get("DPICL_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("dpicl", appauthor=False)


def user_name() -> str:
    """The operating-system user, who stands for the person until there is a login."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def load_identity(home: Path, *, may_create: bool) -> Identity:
    """Read the secret, or make it on first use.

    may_create: False where a ledger exists already, since a new secret could not read it. Raises LedgerError with the
    reason where the folder or the file cannot be used.
    """
    path = home / SECRET_FILE
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            if not may_create:
                raise LedgerError(
                    f"the ledger's secret ({SECRET_FILE} in DPICL_HOME) is missing, and without it the ledger cannot "
                    "recognise any row; put the file back, or restore a backup, which holds it."
                )
            write_secret(path, secrets.token_bytes(SECRET_BYTES))
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"the ledger's secret in DPICL_HOME could not be read or written ({_reason(error)}); check the folder's "
            "rights and space, or set DPICL_HOME to another one."
        ) from None
    if len(secret) != SECRET_BYTES:
        raise LedgerError(f"{SECRET_FILE} in DPICL_HOME holds no secret of {SECRET_BYTES} bytes; put the file back.")
    return Identity(home, secret)


def write_secret(path: Path, secret: bytes) -> None:
    """Put a secret in place unless one is there already: whoever comes first wins, readers never see half a file."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp gives 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secret.hex() + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
