"""The certificate: verify's numbers, every statement that a reader needs, and letters alone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dpicl_core.accounting import composed_loss, epsilon_tight
from dpicl_core.accounting.risk import best_guess_percent
from dpicl_core.certificate import as_html, as_text, certificate_for
from dpicl_core.documents import canonical_hash
from dpicl_core.errors import ExportError
from dpicl_core.export import document_bytes, document_for
from dpicl_core.verification import plain_words, read_document, verify
from dpicl_core.vetting import Approve, Edit, vetted
from tests.support.runs import finished_run
from tests.support.vetting import DECISIONS, VIEW, WHY, sign_off

MECHANISMS = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only")
EPSILONS = re.compile(r"epsilon ([\d.]+) by the tight accountant, ([\d.]+) by the paper's, at delta ([\d.e-]+)")


def verdict_of(mechanism="tang-gaussian", decisions=DECISIONS, **settings):
    return verify(vetted(document_for(finished_run(mechanism)), decisions, sign_off(**settings)))


def one_line(text):
    return " ".join(text.split())


class Letters(HTMLParser):
    """Collects what a page shows, its tags, and everything that it would fetch."""

    def __init__(self, page):
        super().__init__()
        self.shown, self.tags, self.fetched = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href", "action", "data")]

    def handle_data(self, data):
        self.shown.append(data)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_its_numbers_are_those_of_verify(mechanism):
    verdict = verdict_of(mechanism)
    certificate = certificate_for(verdict)
    (stated,) = EPSILONS.findall(plain_words(verdict))
    for shown in (one_line(as_text(certificate)), one_line(" ".join(Letters(as_html(certificate)).shown))):
        assert EPSILONS.findall(shown) == [stated]
        assert verdict.document.guarantee.sentence in shown or mechanism == "public-only"
        assert verdict.document.sha256 in shown
        assert "everything spent so far has epsilon 3, and 90% of the budget was left" in shown
    tight = max(price.epsilon_tight for price in verdict.prices)
    assert float(stated[0]) == pytest.approx(tight, rel=1e-3)


def test_its_risk_is_that_of_the_label_that_pays_most():
    verdict = verdict_of()
    prices = [
        (price.mechanism, {"sampling_rate": price.sampling_rate, "composed_tokens": price.composed_tokens})
        for price in verdict.prices
    ]
    assert len(prices) == 2
    delta = verdict.document.guarantee.delta
    tight = max(epsilon_tight(spec, delta=delta, **rates) for spec, rates in prices)
    guess = max(best_guess_percent(composed_loss(spec, delta=delta, **rates)) for spec, rates in prices)
    text = one_line(as_text(certificate_for(verdict)))
    stated_epsilon = float(re.search(r"epsilon of this run is at most ([\d.]+):", text)[1])
    stated_guess = float(re.search(r"right at most ([\d.]+)% of the time", text)[1])
    assert tight <= stated_epsilon <= tight * 1.01
    assert guess <= stated_guess <= guess + 0.1


def test_somebody_who_reads_it_alone_learns_what_was_protected_what_was_spent_and_what_can_go_wrong():
    certificate = certificate_for(verdict_of())
    titles = [section.title for section in certificate.sections]
    assert titles == [
        "What was protected",
        "How",
        "How much was spent",
        "What could go wrong",
        "What is not covered",
        "Who looked at it",
        "How to check this",
    ]
    text = one_line(as_text(certificate))
    for needed in (
        'Every single row of the private table "animals" (rows drawn from, by label: cat 30, dog 30)',
        "4 groups of 2 secretly drawn rows each",
        "Grace Hopper decided on every released text: 1 approved, 1 edited, 1 rejected",
        "what it cost stays spent",
        "2 invented example texts",
        "1 of them changed or rewritten by the reviewer, signed by Grace Hopper",
        "it is no signature",
        WHY,
        "selection: from the released texts; no internal view is recorded before approval",
        "python -m dpicl_core verify FILE",
        "best possible guess",
        "what others already know",
    ):
        assert needed in text


def test_a_selection_informed_by_private_data_is_said_where_it_is_read_first_and_last():
    text = one_line(as_text(certificate_for(verdict_of(views=[VIEW]))))
    assert "selection: informed by private data, not covered by the guarantee" in text
    assert "but not the choice among it and the edits" in text
    assert "at no further privacy cost" not in text


def test_where_no_private_row_was_read_it_says_so():
    text = one_line(as_text(certificate_for(verdict_of("public-only"))))
    assert "no row of it was read" in text
    assert "Nothing of any row can be learnt" in text
    assert "epsilon 0 by the tight accountant" in text


def test_text_of_persons_and_labels_stays_letters():
    evil = '<script>alert(1)</script><img src="http://x/y">&"'
    record = finished_run()
    task = replace(record.plan.task, title=evil)
    document = document_for(replace(record, plan=replace(record.plan, task=task)))
    decisions = (Approve(), Approve(), Edit(evil))
    page = as_html(certificate_for(verify(vetted(document, decisions, sign_off(reviewer=evil, justification=evil)))))
    letters = Letters(page)
    assert letters.tags <= {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2",
                            "p", "ul", "li", "span"}  # fmt: skip
    assert letters.fetched == []
    assert "".join(letters.shown).count(evil) == 4
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page


def test_it_is_made_for_signed_files_that_hold_and_for_no_others():
    with pytest.raises(ExportError, match="nobody has signed"):
        certificate_for(verify(document_for(finished_run())))
    content = json.loads(document_bytes(verdict_of().document))
    content["guarantee"]["epsilon"]["tight"] = 0.1
    content["sha256"] = canonical_hash(content)
    with pytest.raises(ExportError, match="no certificate is made"):
        certificate_for(verify(read_document(json.dumps(content).encode())))
