"""A bounded map that drops its oldest entry."""

import threading
from collections import OrderedDict


class BoundedMap:
    """A map with a maximum size; thread-safe."""

    def __init__(self, most):
        self._most, self._lock, self._kept = most, threading.Lock(), OrderedDict()

    def put(self, key, value):
        """Inserts a value as the newest."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def get(self, key):
        """The value, or None."""
        with self._lock:
            return self._kept.get(key)

    def take(self, key):
        """Removes and returns the value, or None."""
        with self._lock:
            return self._kept.pop(key, None)
