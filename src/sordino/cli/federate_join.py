"""`sordino federate join`: take part in a training over a network."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sordino.cli.inputs import path
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say

if TYPE_CHECKING:
    from sordino.federated.flower.deployment import Deployment

_EPILOG = """\
example:
  sordino federate key anna
  (give anna.pub to whoever runs the server, and get an invitation)
  sordino federate join invitation.json mine.npz --key anna
"""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino federate`."""
    parser = actions.add_parser(
        "join",
        help="take part in a training over a network",
        description="Take part in a training with the examples of one user, which stay on this"
        " machine. INVITATION comes from whoever runs the server; what it says is guaranteed is"
        " what you agree to, and a server that asks for less gets nothing. DATA is .npz with the"
        " arrays vectors and label, or .csv with the columns 0, 1, 2, ... and label. Needs the"
        " extra federated.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("invitation", type=path, metavar="INVITATION")
    add("data", type=path, metavar="DATA")
    add("--key", type=path, required=True, metavar="FILE", help="the node's private key")
    add("-o", "--output", type=path, metavar="MODEL", help="write the trained model, .npz")
    add(
        "--label",
        default="label",
        metavar="NAME",
        help="array or column of the labels (default: %(default)s)",
    )
    add(
        "--ledger",
        type=path,
        metavar="FILE",
        help="where taking part is counted (default: SORDINO_LEDGER, or in your data folder)",
    )
    add("--person", metavar="NAME", help="whom the ledger counts (default: the key's name)")
    add(
        "--patience",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="give up when the server has been away for so long (default: %(default)g)",
    )
    add("-q", "--quiet", action="store_true", help="say nothing")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from sordino.federated.flower.deployment import Invitation
    from sordino.federated.flower.examples import read_examples
    from sordino.federated.flower.extra import require_flower
    from sordino.federated.flower.join import join
    from sordino.federated.model import save_model
    from sordino.privacy.ledger import Ledger
    from sordino.privacy.ledger.ledger import default_ledger

    require_flower()
    stream = None if options.quiet else sys.stderr
    invitation = Invitation.read(options.invitation)
    examples = read_examples(options.data, invitation.deployment.task, options.label)
    say(f"server {invitation.server}; {counted(int(examples.counts[0]), 'example')}", stream)
    for line in agreed(invitation.deployment):
        say(line, stream)
    place = options.ledger or default_ledger()
    place.parent.mkdir(parents=True, exist_ok=True)
    model = join(
        invitation,
        examples,
        options.key,
        Ledger(place, create=True),
        person=options.person,
        patience=options.patience,
        tell=lambda line: say(line, stream),
    )
    say("the training is over", stream)
    if options.output is not None:
        save_model(options.output, model.task, model.parameters, model.statement)
        say(f"wrote {options.output}", stream)
    return EXIT_DONE


def agreed(deployment: Deployment) -> list[str]:
    """What a node agrees to, in lines for people."""
    statement = deployment.statement()
    lines = [
        f"regime {deployment.regime.name}, at most {counted(deployment.cap, 'round')};"
        f" trusted: {statement['trusted']}"
    ]
    for kind, of_whom in (
        ("local", "against the server"),
        ("central", "against who has the model"),
    ):
        part = statement[kind]
        if part is not None:
            lines.append(
                f"{of_whom}: epsilon {part['epsilon_total']:.4g}, delta {part['delta_total']:.4g}"
                " after all rounds"
            )
    if not statement["guarantee"]:
        lines.append(f"no guarantee: {statement['why_not']}")
    return lines
