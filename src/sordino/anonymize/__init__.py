"""Waveform in, waveform out: the words stay, the voice does not."""
