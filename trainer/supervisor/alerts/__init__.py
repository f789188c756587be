"""Alert rules: what in the numbers of a run deserves a person's attention; one rule per file.

A rule sees every point of the series it watches, and once a second the
:class:`~trainer.supervisor.alerts.rule.Situation`.  Precision comes first: a
rule that cannot be sure is silent.  ``docs/alerts.md`` has all thresholds.
"""
