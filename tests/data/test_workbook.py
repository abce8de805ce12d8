"""Excel workbooks: cells are read as a person sees them, with the checks of text tables, or refused by coordinate."""

from __future__ import annotations

import datetime
import io
import zipfile

import pytest
from openpyxl import Workbook

from dpicl_core.data import read_dataset
from dpicl_core.errors import DataError

SECRET = "zebra-4711"


def workbook(*sheets, change=None):
    book = Workbook()
    book.remove(book.active)
    for title, table in sheets:
        sheet = book.create_sheet(title)
        for row in table:
            sheet.append(row)
    if change is not None:
        change(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def simple(*rows, change=None):
    return workbook(("Notes", [("label", "text"), *rows]), change=change)


def repacked(data, *, shared=None, **replaced):
    """The same archive with some parts' content changed by functions; shared: XML of the shared strings to add."""
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    if shared is not None:
        override = b'<Override PartName="/xl/sharedStrings.xml" ContentType="' + kind + b'" /></Types>'
        replaced["[Content_Types]"] = lambda xml: xml.replace(b"</Types>", override)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            content = old.read(part.filename)
            for ending, edit in replaced.items():
                if part.filename.endswith(f"{ending}.xml"):
                    content = edit(content)
            new.writestr(part.filename, content)
        if shared is not None:
            new.writestr("xl/sharedStrings.xml", shared)
    return buffer.getvalue()


def refusal(data, **options):
    with pytest.raises(DataError) as caught:
        read_dataset(data, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_a_sheet_is_read_with_row_numbers(tmp_path):
    path = tmp_path / "notes.xlsx"
    path.write_bytes(simple(("a", "one\ntwo, “three”"), ("b", None), (None, None), (" c ", "=kept" and "naïve 👍")))
    seen = []
    dataset = read_dataset(path, progress=seen.append)
    assert [(e.label, e.text) for e in dataset.examples] == [("a", "one\ntwo, “three”"), (" c ", "naïve 👍")]
    assert dataset.lines == (2, 5)
    assert [(row.line, row.reason.value) for row in dataset.dropped] == [(3, "blank text")]
    assert (dataset.encoding.code, dataset.delimiter.words) == ("xlsx", "workbook cells")
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_first_sheet_or_the_named_one_is_read():
    data = workbook(("One", [("label", "text"), ("a", "x")]), ("Two", [("label", "text"), ("b", "y")]))
    first = read_dataset(data)
    assert first.examples[0].label == "a"
    assert [notice.code for notice in first.notices] == ["first-sheet"]
    assert read_dataset(data, sheet="Two").examples[0].label == "b"
    assert "choose one of One and Two" in refusal(data, sheet="Three")
    with pytest.raises(DataError, match="not an Excel workbook"):
        read_dataset(b"label,text\na,b\n", sheet="One")


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (0, "0"), (2.0, "2"), (1.5, "1.5"), (-3, "-3"), (True, "TRUE"), (False, "FALSE")]
)
def test_plain_numbers_and_truth_values_are_read_as_shown(value, text):
    assert read_dataset(simple((value, "words"))).examples[0].label == text


def test_words_that_look_like_values_stay_words():
    words = ["NA", "007", "1e3", "TRUE", "None", "#N/A?", " x "]
    dataset = read_dataset(simple(*[(word, f"text {word}") for word in words]))
    assert [example.label for example in dataset.examples] == words


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (datetime.date(2026, 4, 1), "a date"),
        ("=1+1", "a formula"),
        (1 / 3, "formatted number"),
        (123456789012, "formatted number"),
    ],
)
def test_cells_that_are_shown_differently_are_refused_by_coordinate(value, reason):
    message = refusal(simple(("a", SECRET), ("b", value)))
    assert "cell B3" in message
    assert reason in message


def test_formatted_numbers_and_errors_are_refused():
    def as_code(book):
        book.active["A2"].number_format = "000"

    def as_error(book):
        book.active["A2"].data_type = "e"
        book.active["A2"].value = "#N/A"

    assert "formatted number" in refusal(simple((7, SECRET), change=as_code))
    assert "error value" in refusal(simple(("x", SECRET), change=as_error))


def test_columns_that_are_not_used_may_hold_anything():
    data = workbook(("S", [("when", "label", "text"), (datetime.date(2026, 4, 1), "a", "x"), ("=1+1", "b", "y")]))
    assert len(read_dataset(data)) == 2


def test_persons_come_from_their_column():
    data = workbook(("S", [("patient", "label", "text"), (1, "a", "x"), (1, "b", "y"), (2, "a", "z")]))
    assert read_dataset(data, person_column="patient").persons == ("1", "1", "2")
    assert "person-like-column" in [notice.code for notice in read_dataset(data).notices]


def test_a_false_dimension_cuts_nothing_off():
    data = repacked(
        simple(*[("a", f"text {i}") for i in range(30)]), sheet1=lambda xml: xml.replace(b"A1:B31", b"A1:B2")
    )
    assert len(read_dataset(data)) == 30


def test_escaped_characters_are_decoded():
    data = repacked(simple(("a", "one MARK two")), sheet1=lambda xml: xml.replace(b"MARK", b"_x000D_"))
    assert read_dataset(data).examples[0].text == "one \r two"


def with_shared_string(content):
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return repacked(
        simple(("a", "text 1"), ("b", "x")),
        sheet1=lambda xml: xml.replace(b't="inlineStr"><is><t>text 1</t></is>', b't="s"><v>0</v>'),
        shared=b'<sst xmlns="' + main + b'"><si>' + content + b"</si></sst>",
    )


def test_shared_strings_are_read():
    runs = with_shared_string(b'<r><t xml:space="preserve">in </t></r><r><t>two runs_x000D_</t></r>')
    assert [example.text for example in read_dataset(runs).examples] == ["in two runs\r", "x"]
    refusal(with_shared_string(b"<t>unfinished"))


def test_escaped_underscores_in_shared_strings_are_refused():
    assert "export it as CSV" in refusal(with_shared_string(b"<t>_x005F_x000D_</t>"))
    inline = repacked(simple(("a", "MARK")), sheet1=lambda xml: xml.replace(b"MARK", b"_x005F_x000D_"))
    assert read_dataset(inline).examples[0].text == "_x000D_"


def test_a_cell_beyond_the_header_is_refused_and_trailing_blanks_are_not():
    assert "beyond the 2 columns" in refusal(simple(("a", "x", SECRET)))
    assert len(read_dataset(workbook(("S", [("label", "text", None, " "), ("a", "x", None, "")])))) == 1


@pytest.mark.parametrize(
    "table", [[], [(None,), ("label", "text"), ("a", "b")], [("label",), ("a",)], [("label", "text")]]
)
def test_sheets_without_a_table_are_refused(table):
    refusal(workbook(("S", table)))


def test_a_header_that_is_data_is_not_shown():
    message = refusal(workbook(("S", [("Sports", f"They won {SECRET}."), ("Sports", "x")])))
    assert "not shown" in message
    message = refusal(workbook(("S", [("label", f"They won {SECRET}.", "x"), ("label", "x", "y")])))
    assert "look like data" in message


@pytest.mark.parametrize("cut", [10, 200, 2000])
def test_damaged_archives_are_refused(cut):
    refusal(simple(("a", "x"))[:-cut])


def test_damaged_sheets_are_refused_without_their_text():
    broken = repacked(
        simple(("a", "x"), ("b", "y")), sheet1=lambda xml: xml.replace(b'r="B3"', b'r="' + b'zebra-4711"')
    )
    refusal(broken)
    refusal(repacked(simple(("a", "x")), sheet1=lambda xml: xml[: len(xml) // 2]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'<row r="3"', b'<row r="1"'),
        (b'<row r="3"', b'<row r="2"'),
        (b'r="B3"', b'r="A3"'),
        (b'r="B3"', b'r="B2"'),
        (b'r="A3"', b'r="C3"'),
    ],
)
def test_rows_and_cells_out_of_order_are_refused(old, new):
    swapped = repacked(simple(("a", "x"), ("b", "y")), sheet1=lambda xml: xml.replace(old, new))
    assert "out of order" in refusal(swapped)


def test_document_types_are_refused():
    def declare(xml):
        return b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>' + xml.split(b"?>")[-1]

    refusal(repacked(simple(("a", "x")), sheet1=declare))


def test_other_archives_and_bombs_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.csv", "label,text\n")
    assert "archive, not a workbook" in refusal(buffer.getvalue())
    bomb = repacked(simple(("a", "x")), sheet1=lambda xml: xml + b" " * 30_000_000)
    assert "decompression bomb" in refusal(bomb)
    large = simple(*[("a", f"{i} {i * i} {i**3}") for i in range(2000)])
    assert "unpacks to" in refusal(large, max_bytes=len(large) + 1)


def test_a_date_out_of_range_is_refused_without_a_warning_that_quotes_it(recwarn):
    def as_date(book):
        book.active["A2"].number_format = "yyyy-mm-dd"

    assert "cell A2" in refusal(simple((4711_4711_4711, "x"), change=as_date))
    assert not [warning for warning in recwarn if "4711" in str(warning.message)]
