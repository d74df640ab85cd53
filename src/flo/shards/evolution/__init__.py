"""A changed program on the checkpoint of the one before it.

change_planning   which operators and inputs are not those of before
comparison        which operators are kept, filled and dropped, by their ids
filling           the program that computes what is filled, and where its rows come from
plan_text         all of that in the user's words
snapshots         rows of streams that the state holds
held_rows_task    a task that reads them
switch            the states of the new program, from those that are kept and those that were filled
cutting           states in another number of shards
"""
