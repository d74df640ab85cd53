"""The family of languages of the paper (§3-§5), written once for every collection and every operator.

The only collection defined here is the ordered sequence of streams, which `nest` needs. Depends on nothing but the
standard library.
"""
