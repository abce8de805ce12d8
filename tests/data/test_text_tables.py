"""Text tables: the encoding, the delimiter, line ends and quotes are read by rule, or refused with the place."""

from __future__ import annotations

import os
import threading

import pytest

from dpicl_core.data import DropReason, read_dataset
from dpicl_core.errors import DataError

SECRET = "zebra-4711"


def read(text, encoding="utf-8", **options):
    return read_dataset(text.encode(encoding), **options)


def refusal(data, **options):
    with pytest.raises(DataError) as caught:
        read_dataset(data if isinstance(data, bytes) else data.encode(), **options)
    message = str(caught.value)
    assert SECRET not in message
    assert "\n" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def rows(dataset):
    return [(example.label, example.text) for example in dataset.examples]


@pytest.mark.parametrize(
    ("codec", "mark", "code"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", b"\xef\xbb\xbf", "utf-8-sig"),
        ("utf-16-le", b"\xff\xfe", "utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "utf-16-be"),
        ("utf-32-le", b"\xff\xfe\0\0", "utf-32-le"),
        ("utf-32-be", b"\0\0\xfe\xff", "utf-32-be"),
        ("cp1252", b"", "windows-1252"),
    ],
)
def test_the_encoding_is_found_and_named(codec, mark, code):
    dataset = read_dataset(mark + "label,text\nä,Käufer zahlt 5 €\nb,naïve\n".encode(codec))
    assert rows(dataset) == [("ä", "Käufer zahlt 5 €"), ("b", "naïve")]
    assert dataset.encoding.code == code
    assert dataset.encoding.words
    assert dataset.columns == ("label", "text")


def test_windows_1252_is_announced():
    dataset = read("label,text\na,café\n", "cp1252")
    assert [notice.code for notice in dataset.notices if notice.code == "windows-1252"] == ["windows-1252"]


def test_bytes_that_fit_no_encoding_are_refused_with_their_position():
    message = refusal(b"label,text\na,ok\n" + b"b,\x81 " + SECRET.encode())
    assert "byte 19" in message
    assert "line 3" in message


def test_a_utf8_file_with_one_bad_byte_is_not_taken_for_windows_1252():
    text = "label,text\n" + "a,café crème\n" * 5
    message = refusal(text.encode() + b"a,\xe9nd\n")
    assert "line 7" in message
    assert "UTF-8 in 10 places" in message


def test_a_file_cut_inside_a_character_is_refused():
    assert "UTF-8" in refusal(("label,text\n" + "a,café crème\n" * 5 + "a,é").encode()[:-1])


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-32-le"])
def test_a_cut_file_with_a_mark_is_refused(codec):
    mark = "\ufeff".encode(codec)
    assert "byte-order mark" in refusal((mark + f"label,text\na,{SECRET}\n".encode(codec))[:-1])


def test_a_fault_beyond_the_first_chunk_is_placed_right():
    body = b"label,text\n" + b"a,plain words\n" * 100_000
    assert f"byte {len(body) + 3}" in refusal(body + b"a,\x81\n")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_kind_of_line_end_is_read(ending, last):
    text = ending.join(["label,text", 'a,"one, ""two"""', "b,three"]) + (ending if last else "")
    dataset = read(text)
    assert rows(dataset) == [("a", 'one, "two"'), ("b", "three")]
    assert dataset.lines == (2, 3)


@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
def test_line_ends_inside_a_cell_are_kept_and_counted_as_an_editor_does(inner):
    dataset = read(f'label,text\r\na,"x{inner}y{inner}{inner}z"\r\nb,w\r\n')
    assert rows(dataset) == [("a", f"x{inner}y{inner}{inner}z"), ("b", "w")]
    assert dataset.lines == (2, 6)


@pytest.mark.parametrize("separator", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_separators_are_not_line_ends(separator):
    dataset = read(f"label,text\na,x{separator}y\nb,z\n")
    assert rows(dataset) == [("a", f"x{separator}y"), ("b", "z")]
    assert dataset.lines == (2, 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("label,text\na,b\r\nc,d\n", 2),
        ("label,text\r\na,b\r\nc,d\n", 3),
        ("label,text\na,b\nc,d\re,f\n", 3),
        ("label,text\ra,b\r\n", 2),
    ],
)
def test_changing_line_ends_are_refused(text, line):
    assert f"line {line} ends with" in refusal(text)


@pytest.mark.parametrize(("mark", "words"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")])
def test_the_delimiter_is_found_and_named(mark, words):
    others = ", ; \t | ".replace(mark, "")
    dataset = read(f'label{mark}text\na{mark}"x{mark}y{others}"\nb{mark}{others.strip() or "z"}!\n')
    assert rows(dataset)[0] == ("a", f"x{mark}y{others}")
    assert (dataset.delimiter.code, dataset.delimiter.words) == (mark, words)


def test_prose_full_of_another_delimiter_does_not_mislead():
    dataset = read("label;text\n" + "".join(f"a;one, two, three {i}\n" for i in range(9)))
    assert dataset.delimiter.code == ";"
    assert rows(dataset)[0] == ("a", "one, two, three 0")


def test_a_separator_line_sets_the_delimiter_and_counts_as_a_line():
    dataset = read("sep=;\r\nlabel;text\r\na;x\r\n")
    assert (dataset.delimiter.code, dataset.lines, dataset.columns) == (";", (3,), ("label", "text"))
    assert "line 3" in refusal("sep=;\nlabel;text\na;b;c\n")


def test_a_separator_line_with_an_unknown_mark_is_refused():
    assert "comma, semicolon, tab, pipe" in refusal("sep=^\nlabel^text\na^b\n")


def test_a_header_that_two_delimiters_could_cut_is_settled_by_the_names_or_refused():
    text = "label,text,a;b\nx,y,z\n"
    assert read(text).columns == ("label", "text", "a;b")
    both = "first;second,third;more\na;b,c;d\n"
    assert "semicolon" in refusal(both)
    assert read(both, delimiter="comma", text_column="third;more").columns == ("first;second", "third;more")
    assert read(both, text_column="first", label_column="more").columns == ("first", "second,third", "more")


@pytest.mark.parametrize("text", ["sentence\nOne, two.\nThree, four.\n", "label\n", '"label,text"\n"a,b"\n'])
def test_one_column_is_never_split(text):
    assert "one column" in refusal(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'label,text\na,b\na,{SECRET} "quoted" word\n', "line 3, column 2"),
        (f'label,text\na,"b"\na,"{SECRET}\nb,c\nd,e\n', "line 3, column 2"),
        (f'label,text\na,"b"x{SECRET}\n', "line 2, column 2"),
        (f'label,text\na,"b" \n"{SECRET}",c\n', "line 2, column 2"),
        (f'label,text\na, "b"\n{SECRET},c\n', "line 2, column 2"),
        (f'label,text\n"a"b,{SECRET}\n', "line 2, column 1"),
        (f'label,text,note\na,"x\ny",{SECRET}"\n', "line 3, column 3"),
        (f'label,text\na,"he said \\"{SECRET}\\""\n', "line 2, column 2"),
        (f'label,"text\na,{SECRET}\n', "line 1, column 2"),
    ],
)
def test_stray_and_unclosed_quotes_are_refused_where_they_begin(text, place):
    assert place in refusal(text)


def test_rows_swallowed_between_two_stray_quotes_are_refused():
    text = f'label,text\na,one\nb,"two\na,three\nb,{SECRET}\na,four"\nb,five\n'
    message = refusal(text)
    assert message.startswith("line 3 ")


def test_rows_swallowed_in_a_table_with_blanks_after_its_commas_are_refused():
    with pytest.raises(DataError, match=r"^line 3 "):
        read('text, label\none, a\n"two, b\nthree, a\nfour", b\nfive, a\nsix, b\n')


def test_dialogues_inside_a_cell_are_read():
    text = 'label,text\nyes,"Are you well?\nyes, I am"\nno,"Any pain?\nno, none"\n'
    assert rows(read(text)) == [("yes", "Are you well?\nyes, I am"), ("no", "Any pain?\nno, none")]


def test_lines_inside_a_cell_that_could_be_rows_of_an_unknown_label_are_warned_of():
    dataset = read('label,text\na,"one\nc,two\nd,three"\nb,x\n')
    (notice,) = [notice for notice in dataset.warnings if notice.code == "rows-inside-cell"]
    assert notice.lines == (2,)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"label,text\na,{SECRET}, two\n", "line 2"),
        (f"label,text\na,b\n{SECRET}\nc,d\n", "line 3"),
        (f'label,text\na,"x\ny"\nb,c\n{SECRET}\n', "line 5"),
        ("label,text\na,b\n   \n", "line 3"),
    ],
)
def test_ragged_rows_are_refused(text, line):
    assert line in refusal(text)


def test_a_nul_is_refused_with_its_line():
    assert "line 2 holds a NUL character (character 6" in refusal("label,text\na,abc\0def\n")
    assert "NUL" in refusal("label,text\na,b\n".encode("utf-16-le"))


def test_a_repeated_header_is_refused_or_warned_of():
    assert "line 3 repeats the header" in refusal("label,text\na,b\nlabel,text\nc,d\n")
    dataset = read("topic,body\na,b\ntopic,body\nc,d\n", text_column="body", label_column="topic")
    assert [notice.lines for notice in dataset.warnings if notice.code == "header-again"] == [(3,)]
    assert len(dataset) == 3


def test_empty_lines_are_skipped_and_named():
    dataset = read("label,text\na,b\n\nc,d\n\n\n")
    (notice,) = dataset.notices
    assert (notice.code, notice.lines, dataset.lines) == ("blank-lines", (3, 5, 6), (2, 4))


def test_blank_cells_drop_their_row_with_a_reason():
    dataset = read("who,label,text\np,a,one\np,,two\np,b,\np,a, \t\np, ,\u00a0\n ,c,three\n", person_column="who")
    assert [(row.line, row.reason) for row in dataset.dropped] == [
        (3, DropReason.BLANK_LABEL),
        (4, DropReason.BLANK_TEXT),
        (5, DropReason.BLANK_TEXT),
        (6, DropReason.BLANK_TEXT_AND_LABEL),
        (7, DropReason.BLANK_PERSON),
    ]
    assert (len(dataset), dataset.persons) == (1, ("p",))


def test_a_table_with_blank_rows_only_is_refused():
    assert "no row is left" in refusal("label,text\na,\n,b\n")


@pytest.mark.parametrize("text", ["label,text", "label,text\n", "\ufefflabel,text\r\n\r\n"])
def test_a_header_alone_is_refused(text):
    assert "no row" in refusal(text)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n\n", b"\r\nlabel,text\r\na,b\r\n", b",\na,b\n"])
def test_nothing_where_the_header_should_be_is_refused(data):
    refusal(data)


def test_cells_are_kept_byte_for_byte():
    cells = ["NA", "nan", "None", "01", "1.0", "1e3", "TRUE", "true", " padded ", "=1+1", "'", "\\", "\u202eשלום",
             "e\u0301 é", "👩‍👩‍👧", "<|endoftext|>", "\u200b", "a\tb", "\x1b[0m"]  # fmt: skip
    dataset = read("label,text\n" + "".join(f"{cell},x {cell}\n" for cell in cells))
    assert rows(dataset) == [(cell, f"x {cell}") for cell in cells]


def test_a_cell_of_three_megabytes_is_read_whole():
    text = "word " * 600_000 + "end"
    dataset = read(f'label,text\na,"{text}"\nb,{text}\n')
    assert [example.text for example in dataset.examples] == [text, text]


def test_an_endless_cell_is_refused_where_it_opens(monkeypatch):
    monkeypatch.setattr("dpicl_core.data.delimited.CELL_LIMIT_CHARACTERS", 1000)
    body = "".join(f"a,{SECRET} {i}\n" for i in range(500))
    assert "line 3" in refusal(f'label,text\na,b\na,"opened\n{body}')
    assert "line 2" in refusal("label,text\na," + "x" * 1500 + "\n")


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "big.csv"
    path.write_bytes(b"label,text\na,b\n" * 100)
    monkeypatch.setattr("dpicl_core.data.encodings.detect_encoding", None)
    with pytest.raises(DataError, match=r"1,500 bytes, over the limit of 1,000"):
        read_dataset(path, max_bytes=1000)
    assert "over the limit" in refusal(b"x" * 11, max_bytes=10)


def test_paths_that_are_no_file_are_refused(tmp_path):
    with pytest.raises(DataError, match="cannot open"):
        read_dataset(tmp_path / "none.csv")
    with pytest.raises(DataError, match="folder"):
        read_dataset(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: os.close(os.open(pipe, os.O_WRONLY)))
    writer.start()
    with pytest.raises(DataError, match="regular file"):
        read_dataset(pipe)
    writer.join()


@pytest.mark.parametrize("start", [b"\xd0\xcf\x11\xe0", b"\x1f\x8b\x08", b"PAR1", b"%PDF-1.7", b"SQLite format 3\0"])
def test_other_kinds_of_file_are_named(start):
    assert "not a text table" in refusal(start + b"rest")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"label,text\n" + b"a,b c\n" * 20_000)

    def grow(_fraction):
        with path.open("ab") as opened:
            opened.write(b"a,b\n")

    with pytest.raises(DataError, match="changed while it was read"):
        read_dataset(path, progress=grow)


def test_progress_rises_from_nothing_to_one(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"label,text\n" + b"a,some words here\n" * 50_000)
    seen = []
    dataset = read_dataset(path, progress=seen.append)
    assert seen == sorted(seen)
    assert 0 <= seen[0] < 0.2
    assert seen[-1] == 1.0
    assert len(seen) > 10
    assert dataset.name == "table.csv"


def test_order_and_duplicates_are_kept():
    dataset = read("label,text\nb,x\na,x\nb,x\n")
    assert rows(dataset) == [("b", "x"), ("a", "x"), ("b", "x")]


def test_no_private_text_is_in_the_representation():
    dataset = read(f"label,text\n{SECRET},{SECRET}\nx,\n")
    assert SECRET not in repr(dataset)
    assert SECRET not in "".join(notice.sentence for notice in dataset.notices)
