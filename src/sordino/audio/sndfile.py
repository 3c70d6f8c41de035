"""What libsndfile says, for people."""

from __future__ import annotations

import soundfile


def reason(error: soundfile.LibsndfileError) -> str:
    """libsndfile's own words, without its prefix and full stop."""
    return str(error.error_string).removeprefix("Error : ").rstrip(".")
