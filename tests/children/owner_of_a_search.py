"""Opens a pool in a search process, prints that process's id, and searches or waits until it is killed.

``python -m tests.children.owner_of_a_search idle|searching``
"""

from __future__ import annotations

import sys
import time

import numpy as np

from trainer.retrieval.own_process import OwnSearch


def main() -> None:
    """Hold a pool for good."""
    search = OwnSearch()
    documents = np.eye(8, dtype=np.float32)
    with search.pool(documents) as pool:
        sys.stdout.write(f"{search.pid}\n")
        sys.stdout.flush()
        while True:
            if sys.argv[1] == "searching":
                pool.search(documents, k=1)
            time.sleep(0.01)


if __name__ == "__main__":
    main()
