"""The family of languages (paper §3-§5): written once, for every collection and every operator.

Knows no concrete collection but the ordered sequence of streams that `nest` needs, and needs nothing but the
standard library.
"""
