"""Numbers for people never tell a loss smaller, or a budget larger, than it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.rounding import percent_left, rounded_up

LOSSES = st.floats(1e-12, 1e6)


@given(LOSSES, st.integers(2, 6))
def test_a_loss_is_told_at_most_one_unit_of_its_last_digit_above_itself_and_never_below(value, digits):
    told = float(rounded_up(value, digits))
    assert value * (1 - 1e-9) <= told <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-9)


@given(st.floats(0, 1))
def test_a_share_that_is_left_is_told_at_most_a_tenth_of_a_percent_below_itself_and_never_above(share):
    told = float(percent_left(share).rstrip("%")) / 100
    assert share - 0.001 - 1e-9 <= told <= share + 1e-9


def test_round_numbers_stay_and_edges_are_told():
    assert [rounded_up(value, 4) for value in (0.0, 4.0, 0.376936, 0.347433, 1e-5, 1234567.0, float("inf"))] == [
        "0", "4", "0.377", "0.3475", "1e-05", "1235000", "inf",
    ]  # fmt: skip
    assert [percent_left(share) for share in (0.0, 1.0, 0.99999, -0.2)] == ["0%", "100%", "99.9%", "0%"]
