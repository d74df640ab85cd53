"""Operator state: sorted runs that are merged in levels, so that the cost of a delta follows its size.

    keys.py      a key of any type as a 64-bit number
    run.py       a run: rows that never change, sorted by key number
    merging.py   runs of similar size become one, a part with each delta
    sharing.py   two operators that keep the same rows hold the same runs
    trace.py     a trace: a list of runs that is a z-set; and one that keeps the latest row of each key

A run of a trace may be sorted by more than the key number, and `join` may combine rows in another way:

    totals.py    sums by key, of exact numbers (limbs.py, products.py)
    ranked.py    rows by group and in an order (order.py, comparison.py): the first rows of a group
    ranks.py       the value at a rank of a group
    neighbours.py  the rows around a change, for window functions (frames.py)
    chains.py      the sessions around a change
    expiring.py  rows by time: those that a clock has passed
    timed.py     rows by key and time: those of a key in an interval
    panes.py     rows by key and time that wait for their windows to close
"""
