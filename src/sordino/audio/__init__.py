"""Audio in and out: read nearly anything, write safely, resample, keep the level."""

from sordino.audio.read import AudioInfo, open_audio
from sordino.audio.recording import Recording

__all__ = ["AudioInfo", "Recording", "open_audio"]
