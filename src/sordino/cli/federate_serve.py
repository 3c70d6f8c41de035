"""`sordino federate serve`: run the server of a training over a network."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from sordino.cli.federate_terms import add_terms, terms_given, terms_of
from sordino.cli.inputs import path, positive
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.federated.flower.certificates import Certificates
    from sordino.federated.flower.rounds import FinishedRound
    from sordino.federated.flower.serve import Served

_EPILOG = """\
example:
  sordino federate serve RUN --nodes keys --address learn.example.org:9092 \\
      --classes F,M --inputs 192 --regime central --epsilon 2 --cohort 50
  (give RUN/invitation.json to the nodes)
  sordino federate serve RUN --nodes keys     goes on after a stop
"""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = actions.add_parser(
        "serve",
        help="run the server of a training over a network",
        description="Run the server of a training with the users' devices as nodes. All that it"
        " needs is in the folder RUN; killed and started again, it goes on where it was. Nodes get"
        " RUN/invitation.json. Needs the extra federated.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run_folder", type=path, metavar="RUN")
    add(
        "--nodes",
        type=path,
        required=True,
        metavar="FOLDER",
        help="public keys of the nodes that may take part, NAME.pub",
    )
    add(
        "--address",
        metavar="HOST:PORT",
        help="where nodes reach the server (default: as before)",
    )
    add(
        "--listen",
        metavar="IP",
        help="address to listen at (default: all, or 127.0.0.1 if --address is this machine)",
    )
    add("--population", type=positive, metavar="N", help="users expected (default: all nodes)")
    add(
        "--least",
        type=positive,
        metavar="N",
        help="nodes connected before a round begins (default: half of the population)",
    )
    add(
        "--deadline",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="a round ends then, whoever is missing (default: %(default)g)",
    )
    add(
        "--linger",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for nodes that have to be told of the end (default: %(default)g)",
    )
    add("-q", "--quiet", action="store_true", help="say nothing of single rounds")
    known = parser.add_argument_group("TLS (default: a certificate of its own, in RUN/tls)")
    known.add_argument("--certificate", type=path, metavar="PEM")
    known.add_argument("--certificate-key", type=path, metavar="PEM")
    known.add_argument(
        "--authority",
        type=path,
        metavar="PEM",
        help="what nodes trust it by (default: the authorities of their systems)",
    )
    add_terms(parser, shapes=True)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from sordino.federated.flower.extra import require_flower
    from sordino.federated.flower.serve import Serving, has_run, population_of, prepare, serve

    require_flower()
    folder = options.run_folder
    serving = Serving(
        options.nodes,
        options.address,
        options.listen,
        _certificates(options),
        options.least,
        options.deadline,
        linger=options.linger,
    )
    if terms_given(options) or not has_run(folder):
        population = options.population or population_of(folder, options.nodes)
        deployment, initial = terms_of(options, population)
        invitation = prepare(folder, serving, deployment, initial)
    else:
        invitation = prepare(folder, serving)
    say(f"server at {invitation.server}; nodes join with {folder / 'invitation.json'}", sys.stderr)
    tell_served(serve(folder, serving, teller(quiet=options.quiet)))
    return EXIT_DONE


def teller(*, quiet: bool) -> Callable[[FinishedRound], None]:
    """Says what became of a round."""

    def tell(finished: FinishedRound) -> None:
        if not quiet:
            say(_line(finished), sys.stderr)

    return tell


def tell_served(served: Served) -> None:
    """Say what a run has ended in."""
    say(
        f"{counted(served.rounds, 'round')}; {counted(len(served.told), 'node')} told of the end",
        sys.stderr,
    )
    say(f"wrote {served.model} and {served.statement}", sys.stdout)


def _line(finished: FinishedRound) -> str:
    report = finished.report
    parts = [f"round {report.round}: {report.accepted} of {finished.asked} uploads counted"]
    if report.noise_norm:
        parts.append(f"SNR about {report.snr:.2g}")
    if finished.missing:
        parts.append(f"{len(finished.missing)} missing")
    parts += [f"{name}: {reason}" for name, reason in sorted(finished.refused.items())]
    return "; ".join(parts)


def _certificates(options: argparse.Namespace) -> Certificates | None:
    from sordino.federated.flower.certificates import Certificates

    if options.certificate is None and options.certificate_key is None:
        if options.authority is not None:
            raise UsageError("--authority goes with --certificate")
        return None
    if options.certificate is None or options.certificate_key is None:
        raise UsageError("--certificate and --certificate-key go together")
    return Certificates(options.certificate, options.certificate_key, options.authority)
