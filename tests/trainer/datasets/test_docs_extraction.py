import textwrap

import pytest

from trainer.datasets.docs_extraction import Entry, entries_of, fold, make_entry

SOURCE = textwrap.dedent('''
    """A module docstring is no entry."""

    def abspath(path: str, *, strict: bool = False) -> str:
        """Return the absolute path of a file. Symbolic links stay.

        The working folder is put in front of :func:`relative <os.path.relpath>` paths.
        """

    class Store(Base, metaclass=Meta):
        """Keeps what must not be lost.

        Rows go to disk.
        """

        async def put(self, row: int = 1) -> None:
            """Write one row to the disk."""

        def short(self):
            """Too short."""

    if True:
        def nested():
            """Found inside a condition too."""

    add_docstr(lib.dot, r"""
    dot(a, b) -> Tensor

    Multiply two vectors element by element.
    """ + r"""
    {extra}And add up.
    """.format(**args))
''').encode()


def test_functions_classes_methods_and_attached_documentation_become_entries() -> None:
    entries = {entry.name: entry for entry in entries_of(SOURCE, "lib")}
    assert list(entries) == ["lib.abspath", "lib.Store", "lib.Store.put", "lib.nested", "lib.dot"]
    assert entries["lib.abspath"] == Entry(
        "lib.abspath",
        "Return the absolute path of a file.",
        "lib.abspath(path: str, *, strict: bool=False) -> str\n\n"
        "Symbolic links stay.\n\n"
        "The working folder is put in front of :func:`relative <os.path.relpath>` paths.",
    )
    assert entries["lib.Store"].document == "class lib.Store(Base)\n\nRows go to disk."
    assert entries["lib.Store.put"].document == "lib.Store.put(self, row: int=1) -> None"
    assert entries["lib.dot"].query == "Multiply two vectors element by element."
    assert entries["lib.dot"].document == "dot(a, b) -> Tensor\n\nAnd add up."


@pytest.mark.parametrize(
    "docstring",
    [
        "Join two paths with care.\n\nExample: Join two  paths\nwith care. Then more.",
        "Join two paths with care.\n\nFirst.\n\njoin two paths with `care`!\n\nLast.",
    ],
)
def test_the_query_is_never_repeated_in_the_document(docstring: str) -> None:
    entry = make_entry("os.join", "os.join(a, b)", docstring)
    assert entry is not None
    assert fold(entry.query) not in fold(entry.document)


def test_a_docstring_that_is_only_a_signature_or_too_short_is_left_out() -> None:
    assert make_entry("f", "f()", "f(x) -> y") is None
    assert make_entry("f", "f()", "Runs it.") is None
    assert make_entry("f", "f()", ">>> not a sentence at all, but code") is None


def test_abbreviations_do_not_end_the_sentence() -> None:
    entry = make_entry("f", "f()", "Takes numbers, e.g. Integers of any size. Then stops.")
    assert entry is not None
    assert entry.query == "Takes numbers, e.g. Integers of any size."
