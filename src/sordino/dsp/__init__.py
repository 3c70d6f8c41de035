"""Pure signal functions: arrays in, arrays out. No files, no models, no randomness."""
