"""Callbacks that report the trainings of other libraries; none of these libraries is imported here."""
