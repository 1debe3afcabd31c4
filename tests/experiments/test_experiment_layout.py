from __future__ import annotations

import pytest

from damastes.experiments.layout import Layout, Page, Row, percent, spread

TABLE = Layout(
    title="Table 9",
    corner="method",
    columns=["en-fr", "fr-en"],
    rows=[Row("ours", ["79.8 ± 0.2", "81"]), Row("a|b", ["1", "2"]), Row("Proc.", ["77.0", "80.0"], theirs=True)],
    measured=["en-fr: 974 words, coverage 65 %"],
    notes=["a definition"],
)


def test_text_is_aligned_and_sets_their_numbers_apart():
    assert TABLE.to_text() == (
        "Table 9\n\n"
        "method               en-fr  fr-en\n"
        "ours            79.8 ± 0.2     81\n"
        "a|b                      1      2\n"
        "\n"
        "Proc. (theirs)        77.0   80.0\n"
        "\n"
        "- en-fr: 974 words, coverage 65 %\n"
        "- theirs: published in the paper, measured on their vectors with a 200k vocabulary; not measured here\n"
        "- a definition\n"
    )


def test_markdown():
    lines = TABLE.to_markdown().splitlines()
    assert lines[:7] == [
        "# Table 9",
        "",
        "| method | en-fr | fr-en |",
        "| --- | ---: | ---: |",
        "| ours | 79.8 ± 0.2 | 81 |",
        "| a\\|b | 1 | 2 |",
        "| Proc. (theirs) | 77.0 | 80.0 |",
    ]


def test_json():
    assert TABLE.to_json()["rows"][2] == {"name": "Proc.", "values": ["77.0", "80.0"], "theirs": True}
    assert TABLE.to_json()["columns"] == ["method", "en-fr", "fr-en"]


def test_the_same_notes_stand_under_all_three():
    assert all(f"- {note}\n" in TABLE.to_text() and f"- {note}\n" in TABLE.to_markdown() for note in TABLE.footnotes())
    assert TABLE.to_json()["notes"] == TABLE.footnotes()


def test_quick_is_said_in_all_three():
    quick = Layout("Table 9", "a", ["b"], [Row("c", ["d"])], ["1 word"], quick=True)
    assert quick.to_text().startswith("Table 9 (quick)\n")
    assert quick.to_markdown().startswith("# Table 9 (quick)\n")
    assert quick.to_json()["quick"] is True
    assert "QUICK" in quick.to_text()
    assert "theirs" not in quick.to_text()


def test_rows_have_a_value_a_column():
    with pytest.raises(AssertionError, match="does not fit"):
        Layout("t", "a", ["b"], [Row("c", ["d", "e"])], [])


def test_spread_is_the_standard_deviation_over_seeds():
    assert spread([1.0, 2.0, 3.0]) == "2.0 ± 1.0"
    assert spread([1.25], digits=2) == "1.25"
    assert percent([0.5, 0.7]) == "60.0 ± 14.1"


def test_a_page_has_several_tables_with_claims_and_answers():
    part = Layout("Claim 1", "a", ["b"], [Row("c", ["d"])], ["1 word"], claim="it is so (section 2).", answer="it is.")
    page = Page("Claims", [TABLE, part])
    assert page.to_text().startswith("Claims\n\nTable 9\n\nmethod ")
    assert page.to_text().endswith(
        "\n\nClaim 1\n\nThe paper: it is so (section 2).\n\na  b\nc  d\n\nHere: it is.\n\n- 1 word\n"
    )
    headings = [line for line in page.to_markdown().splitlines() if line.startswith("#")]
    assert headings == ["# Claims", "## Table 9", "## Claim 1"]
    assert "\n**Here:** it is.\n" in page.to_markdown()
    assert page.to_json()["parts"][1]["answer"] == "it is."
