"""The program as the verbs build it: a DAG of operators with identities, facts about it, and rewrites of it.

The paper's expression is the meaning of a program, and is derived from the DAG (`tree.py`). Engines run the DAG.
"""
