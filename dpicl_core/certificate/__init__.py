"""The certificate: one printable page that says what a signed file protects, at what price, and what can go wrong.

It is made from `verify`'s verdict, never from what a file claims, so that its numbers are the recomputed ones.
"""

from dpicl_core.certificate.page import as_html
from dpicl_core.certificate.plain import as_text
from dpicl_core.certificate.statements import Certificate, Section, certificate_for

__all__ = ["Certificate", "Section", "as_html", "as_text", "certificate_for"]
