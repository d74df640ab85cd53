"""The engine on Python values (§6): collections and operators, rule by rule. It is the meaning of every program."""
