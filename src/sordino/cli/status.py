"""Exit statuses of the program."""

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

# Answers of `sordino verify` and `sordino identify`, which are no failures.
EXIT_REJECTED, EXIT_UNSURE = 3, 4
