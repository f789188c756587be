"""The contract between trainer, supervisor and web process: run folder, events, batches.

Only the standard library may be imported in this package: the web process and
the supervisor load it, and importing it must never load torch.

Units: times ``t`` are Unix seconds (UTC, float) and serve display only; ages
are measured on the monotonic clock.  ``step`` counts optimizer updates: 0
before the first one, n after the n-th.  ``seq`` counts the events of one
stream of one run from 1, over all its attempts.

Two streams leave a run folder: ``trainer`` (the spool written by the trainer)
and ``supervisor`` (what the supervisor has seen of the process).  Each has its
own ``seq``, so neither process ever waits for the other to number an event.
"""
