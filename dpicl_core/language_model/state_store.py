"""Keys and values of single token positions by address, and the view of them that one forward pass works on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import Cache, CacheLayerMixin

from dpicl_core.language_model.row_states import EMPTY


class LayerStates:
    """Keys and values (capacity, heads, size) of one layer; memory is taken as it is written."""

    def __init__(self, capacity: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """keys, values: (rows, heads, width, size), for their shapes, type and device alone."""
        self.keys = _store_like(keys, capacity)
        self.values = _store_like(values, capacity)


def _store_like(states: torch.Tensor, capacity: int) -> torch.Tensor:
    _, heads, _, size = states.shape
    store = torch.empty((capacity, heads, size), dtype=states.dtype, device=states.device)
    store[EMPTY] = 0
    return store


def token_bytes(keys_and_values: tuple[tuple[torch.Tensor, torch.Tensor], ...]) -> int:
    """Bytes of one token position over all layers, from the states (rows, heads, width, size) of any prompt."""
    return sum(_position_bytes(states) for pair in keys_and_values for states in pair)


def _position_bytes(states: torch.Tensor) -> int:
    _, heads, _, size = states.shape
    return int(heads * size * states.element_size())


class _View(CacheLayerMixin):  # type: ignore[misc]
    """One layer in one forward pass: new states are written to their addresses, then all columns are read."""

    def __init__(self, states: LayerStates, addresses: _Addresses) -> None:
        super().__init__()
        self._states = states
        self._addresses = addresses

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        write, read, shape = self._addresses.on(key_states.device)
        found = []
        for store, new in ((self._states.keys, key_states), (self._states.values, value_states)):
            store.index_copy_(0, write, new.transpose(1, 2).flatten(0, 1))
            found.append(store.index_select(0, read).view(*shape, *store.shape[1:]).transpose(1, 2))
        return found[0], found[1]

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """The store has its shape from the start."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._addresses.columns, 0

    def get_seq_length(self) -> int:
        columns: int = self._addresses.columns
        return columns

    def get_max_length(self) -> int:
        return -1


class _Addresses:
    """Where one forward pass writes (rows, queries) and reads (rows, columns), on each device that a layer is on."""

    def __init__(self, write: NDArray[np.int64], read: NDArray[np.int64]) -> None:
        self.columns = read.shape[1]
        self._write = torch.from_numpy(np.ascontiguousarray(write).ravel())
        self._read = torch.from_numpy(np.ascontiguousarray(read).ravel())
        self._shape = tuple(read.shape)
        self._placed: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}

    def on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, tuple[int, ...]]:
        if device not in self._placed:
            self._placed[device] = (self._write.to(device), self._read.to(device))
        return (*self._placed[device], self._shape)


def view_of(layers: list[LayerStates], write: NDArray[np.int64], read: NDArray[np.int64]) -> Cache:
    """A cache for the library's models: states of new tokens go to `write`, attention sees `read`, in that order."""
    addresses = _Addresses(write, read)
    return Cache(layers=[_View(layer, addresses) for layer in layers])
