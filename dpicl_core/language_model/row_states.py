"""Which state of which row is kept where: addresses of single token positions, least recently used entries out.

Nothing here looks at what a row holds: sizes are public widths and numbers of released tokens, names are draws.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError

Addresses = NDArray[np.int64]

EMPTY = 0
"""Address of a position that holds zeros for ever; hidden columns point at it."""

DISCARD = 1
"""Address that unneeded states are written to; it is never read."""

RESERVED = 2


class StateBook:
    """Addresses of `capacity` token positions, handed out to named entries and taken back."""

    def __init__(self, capacity: int) -> None:
        self._free = np.arange(capacity - 1, RESERVED - 1, -1, dtype=np.int64)
        self._left = len(self._free)
        self._entries: OrderedDict[Hashable, Addresses] = OrderedDict()

    def __contains__(self, name: Hashable) -> bool:
        return name in self._entries

    @property
    def free_tokens(self) -> int:
        """Positions that belong to no entry."""
        return self._left

    def find(self, name: Hashable) -> Addresses:
        """Addresses (n,) of an entry in order, marked as just used; none where there is no such entry."""
        if name not in self._entries:
            return np.empty(0, dtype=np.int64)
        self._entries.move_to_end(name)
        return self._entries[name]

    def extend(self, name: Hashable, count: int, *, keep: Collection[Hashable]) -> Addresses:
        """Add `count` positions to an entry and return all of its addresses; least recently used others go first.

        keep: names that must stay. Raises ModelError where they leave too little room, a matter of public numbers.
        """
        while self._left < count:
            oldest = next((known for known in self._entries if known not in keep and known != name), None)
            if oldest is None:
                raise ModelError(
                    f"the states of one step need {count} positions more than there are; raise --cache-bytes."
                )
            self.drop(oldest)
        self._left -= count
        grown = np.concatenate([self.find(name), self._free[self._left : self._left + count][::-1]])
        self._entries[name] = grown
        self._entries.move_to_end(name)
        return grown

    def drop(self, name: Hashable) -> None:
        """Give an entry's positions back."""
        addresses = self._entries.pop(name, None)
        if addresses is not None:
            self._free[self._left : self._left + len(addresses)] = addresses
            self._left += len(addresses)
