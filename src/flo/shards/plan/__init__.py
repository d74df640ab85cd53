"""Planning: cuts a program into stages, and decides where operators run and what is shuffled between them.

    orders ─> filter ─> group_by(shop) ─> join(shop) ─> sort      level 0: filter, where the rows are
                                                                  stage 1: group_by and join, by the key shop
                                                                  stage 2: sort, in one place

planning.py does it, stages.py has its result, `Plan`. shared_shuffles.py lets verbs with one key share a shuffle,
spread.py spreads windows over shards, and explain.py shows a plan as text.
"""
