"""The card for a message that nothing could screen. A test compares it with the rules."""

STATIC_CARD = (
    "If part of this is about how you are: you do not have to be alone with it. If it is "
    "not, please ignore this note.\n"
    "- Free lines in your country and language: findahelpline.com\n"
)
