"""The command-line program: parse, call one library function, show."""
