"""Verifies requests, one line of JSON each, with Slack's own library: `true` or `false`."""

import json
import sys

from slack_sdk.signature import Clock, SignatureVerifier


class Then(Clock):
    """The time at which the request was made."""

    def __init__(self, seconds):
        self.seconds = seconds

    def now(self):
        return self.seconds


for line in sys.stdin:
    case = json.loads(line)
    verifier = SignatureVerifier(case["secret"], Then(case["now"]))
    good = verifier.is_valid(case["body"], case["timestamp"], case["signature"])
    print("true" if good else "false")
