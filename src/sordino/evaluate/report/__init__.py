"""The report that people read: a table for the terminal, and one page that needs nothing else."""

from sordino.evaluate.report.terminal import summary
from sordino.evaluate.report.write import write_report

__all__ = ["summary", "write_report"]
