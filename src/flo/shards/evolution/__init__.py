"""A changed program on the checkpoint of the one before it.

compare     which operators are kept, filled and dropped, by their ids
filling     the program that computes what is filled, and where its rows come from
snapshots   rows of streams that the state holds
switch      the states of the new program, from those that are kept and those that were filled
"""
