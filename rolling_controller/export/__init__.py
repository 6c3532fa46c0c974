"""Laws in discrete time as source text of other languages."""
