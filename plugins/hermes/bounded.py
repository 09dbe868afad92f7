"""A memory that forgets the oldest instead of growing without end."""

import threading
from collections import OrderedDict


class Bounded:
    """At most so many things by key; safe to use from several threads."""

    def __init__(self, most):
        self._most, self._lock, self._kept = most, threading.Lock(), OrderedDict()

    def put(self, key, value):
        """Remembers, as the newest."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def get(self, key):
        """What is remembered, or None."""
        with self._lock:
            return self._kept.get(key)

    def take(self, key):
        """What is remembered, once."""
        with self._lock:
            return self._kept.pop(key, None)
