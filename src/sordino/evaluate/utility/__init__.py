"""What is left of the speech: words, naturalness, intonation, emotion, length and loudness."""
