"""Features of ready models, a row for every 20 ms: what units are found in and students learn."""
