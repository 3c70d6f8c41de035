"""`sordino ledger`: what releases have cost each person, and how much they may cost."""

from __future__ import annotations

import argparse
import json
import math
import sys
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from sordino.cli.inputs import path
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sordino.privacy.ledger.composition import Guarantee, Limit
    from sordino.privacy.ledger.ledger import Ledger
    from sordino.privacy.ledger.limits import Standing

_ALL = "all purposes together"
# As much as a limit may be passed by; see `sordino.privacy.ledger.composition`.
_TOLERANCE = 1e-9


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "ledger",
        help="show and limit what releases of protected templates have cost",
        description="Show and limit what releases of protected templates have cost each person.",
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")

    show = actions.add_parser(
        "show",
        help="show what was spent",
        description="Show what was spent, by everybody or by one person. Names are not stored:"
        " a list of everybody has pseudonyms.",
    )
    show.add_argument("name", metavar="NAME", nargs="?", help="a person (default: everybody)")
    show.add_argument(
        "--slack",
        type=float,
        metavar="DELTA",
        help="what advanced composition adds to delta (default: 1e-6)",
    )
    add_ledger_options(show)
    show.set_defaults(run=_show)

    limit = actions.add_parser(
        "limit",
        help="set, remove or list limits",
        description="Set how much may be spent by each person. Without EPSILON: list what is set."
        " The ledger is made if there is none.",
    )
    add = limit.add_argument
    add("epsilon", metavar="EPSILON", nargs="?", type=float, help="inf for no limit")
    add("--delta", type=float, default=0.0, metavar="DELTA", help="default: 0")
    add(
        "--slack",
        type=float,
        default=0.0,
        metavar="DELTA",
        help="the part of --delta that pays for advanced composition (default: 0)",
    )
    add("--purpose", metavar="PURPOSE", help="for what (default: all purposes together)")
    add("--person", metavar="NAME", help="for whom, instead of what holds for everybody")
    add("--remove", action="store_true", help="remove the limit")
    add_ledger_options(limit)
    limit.set_defaults(run=_limit)

    forget = actions.add_parser(
        "forget",
        help="remove what is kept of a person",
        description="Remove the protected templates that are remembered for a person, and rebuild"
        " the file without them. What was spent stays counted, under a pseudonym.",
    )
    forget.add_argument("name", metavar="NAME")
    forget.add_argument(
        "--counts",
        action="store_true",
        help="also what was spent: if the person comes back, counting starts at 0",
    )
    add_ledger_options(forget)
    forget.set_defaults(run=_forget)


def add_ledger_options(parser: argparse.ArgumentParser) -> None:
    """Add --ledger, --key-file and --json."""
    add = parser.add_argument_group("ledger").add_argument
    add(
        "--ledger",
        type=path,
        metavar="FILE",
        help="default: SORDINO_LEDGER, else in your data folder",
    )
    add(
        "--key-file",
        type=path,
        metavar="FILE",
        help="the key of the ledger (default: FILE.key beside it, else SORDINO_KEY)",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def open_ledger(options: argparse.Namespace, *, create: bool = False) -> Ledger:
    """The ledger that the options `ledger` and `key_file` tell; says so if it makes one.

    Args:
        options: with these two.
        create: make it where there is none.

    Raises:
        UsageError: there is none, or the key is missing or another one.
    """
    from sordino.privacy.keys import SecretKey
    from sordino.privacy.ledger.ledger import Ledger, default_ledger
    from sordino.privacy.ledger.store import key_file_beside

    place = options.ledger or default_ledger()
    key: SecretKey | None = None
    if options.key_file is not None:
        key = SecretKey.from_file(options.key_file)
    elif not key_file_beside(place).exists():
        key = SecretKey.from_environment()
    made = create and not place.exists()
    ledger = Ledger(place, key, create=create)
    if made:
        whose = "your key" if key else f"its key {key_file_beside(place)}"
        say(f"note: made {place} with {whose}; without the key the ledger is lost", sys.stderr)
    return ledger


def _show(options: argparse.Namespace) -> int:
    from sordino.privacy.ledger.account import DEFAULT_SLACK

    ledger = open_ledger(options)
    slack = DEFAULT_SLACK if options.slack is None else options.slack
    if options.name is None:
        found = ledger.standings()
    else:
        found = {options.name: ledger.standing(options.name)}
    if options.json:
        said = [{"person": name, **_standing(found[name], slack)} for name in found]
        return _tell_json({"slack": slack, "people": said})
    for name, standing in found.items():
        for line in _lines(standing, slack):
            say(f"{name}: {line}", sys.stdout)
    people = "1 person" if len(found) == 1 else f"{len(found)} people"
    say(f"note: {people} in {ledger.path}", sys.stderr)
    return EXIT_DONE


def _limit(options: argparse.Namespace) -> int:
    from sordino.privacy.ledger.composition import Limit

    if options.epsilon is not None and options.remove:
        raise UsageError("--remove takes no EPSILON")
    if options.epsilon is None and not options.remove:
        return _list_limits(options)
    limit = None if options.remove else Limit(options.epsilon, options.delta, options.slack)
    ledger = open_ledger(options, create=limit is not None)
    before = ledger.set_limit(limit, person=options.person, purpose=options.purpose)
    if limit is None and before is None:
        raise UsageError(f"ledger {ledger.path}: there is no such limit")
    if options.json:
        return _tell_json(
            {"before": before and _limit_json(before), "limit": limit and _limit_json(limit)}
        )
    scope = f"{options.person or 'everybody'}: {options.purpose or _ALL}"
    say(f"{scope}: {'no limit' if limit is None else _limit_text(limit)}", sys.stdout)
    if before is not None and before != limit:
        broken = "; what it promised does not hold any more" if _looser(limit, before) else ""
        say(f"note: the limit was {_limit_text(before)}{broken}", sys.stderr)
    return EXIT_DONE


def _list_limits(options: argparse.Namespace) -> int:
    ledger = open_ledger(options)
    if options.person is None:
        whom, limits = "everybody", ledger.limits()
    else:
        whom, limits = options.person, ledger.standing(options.person).limits
    if options.json:
        said = [{"purpose": scope, **_limit_json(limits[scope])} for scope in limits]
        return _tell_json({"limits": said})
    for scope, limit in limits.items():
        say(f"{whom}: {scope or _ALL}: {_limit_text(limit)}", sys.stdout)
    say(f"note: {counted(len(limits), 'limit')} in {ledger.path}", sys.stderr)
    return EXIT_DONE


def _forget(options: argparse.Namespace) -> int:
    found = open_ledger(options).forget(options.name, counts=options.counts)
    if options.json:
        said = {"name": options.name, "templates": found.templates, "releases": found.releases}
        return _tell_json(said)
    counts = "what was spent stays counted"
    if options.counts:
        counts = f"{counted(found.releases, 'release')} not counted any more"
    templates = counted(found.templates, "remembered template")
    say(f"forgot {options.name}: {templates} removed, {counts}", sys.stdout)
    return EXIT_DONE


def _scopes(standing: Standing) -> list[str | None]:
    purposes = standing.account.purposes()
    together = len(purposes) > 1 or (purposes and None in standing.limits)
    return [*purposes, None] if together else list(purposes)


def _lines(standing: Standing, slack: float) -> list[str]:
    from sordino.privacy.ledger.account import spent_of

    lines = []
    for scope in _scopes(standing):
        spent = spent_of(standing.account, scope, slack=slack)
        limit = standing.limits.get(scope)
        line = f"{scope or _ALL}: {counted(spent.releases, 'release')}, {_text(spent.basic)}"
        if spent.advanced is not None:
            line += f"; by advanced composition {_text(spent.advanced)}"
        if limit is not None:
            line += f"; limit {_limit_text(limit)}"
        lines.append(line)
    return lines or ["nothing is spent"]


def _standing(standing: Standing, slack: float) -> dict[str, object]:
    from sordino.privacy.ledger.account import spent_of

    def said(scope: str | None) -> dict[str, object]:
        spent = spent_of(standing.account, scope, slack=slack)
        limit = standing.limits.get(scope)
        return {
            "releases": spent.releases,
            **_json(spent.basic),
            "advanced": spent.advanced and _json(spent.advanced),
            "limit": limit and _limit_json(limit),
        }

    purposes = [{"purpose": name, **said(name)} for name in standing.account.purposes()]
    kinds = [
        {
            "purpose": purpose,
            "mechanism": cost.mechanism,
            "epsilon": _number(cost.epsilon),
            "delta": cost.delta,
            "releases": number,
        }
        for (purpose, cost), number in standing.account.entries.items()
    ]
    return {"total": said(None), "purposes": purposes, "kinds": kinds}


def _looser(limit: Limit | None, than: Limit) -> bool:
    return limit is None or limit.epsilon > than.epsilon or limit.delta > than.delta


def _limit_text(limit: Limit) -> str:
    text = f"epsilon {limit.epsilon:g}"
    if limit.delta:
        text += f", delta {limit.delta:g}"
    return text + (f", slack {limit.slack:g}" if limit.slack else "")


def _limit_json(limit: Limit) -> dict[str, object]:
    return {"epsilon": _number(limit.epsilon), "delta": limit.delta, "slack": limit.slack}


def _text(guarantee: Guarantee) -> str:
    text = f"epsilon {_rounded_up(guarantee.epsilon)}"
    return text + (f", delta {_rounded_up(guarantee.delta)}" if guarantee.delta else "")


def _json(guarantee: Guarantee) -> dict[str, object]:
    return {"epsilon": _number(guarantee.epsilon), "delta": guarantee.delta}


def _number(value: float) -> float | str:
    # JSON has no infinity.
    return value if math.isfinite(value) else "inf"


def _rounded_up(value: float) -> str:
    if not math.isfinite(value):
        return "inf"
    digits = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(digits.create_decimal(Decimal(value * (1 - _TOLERANCE)))):g}"


def _tell_json(said: Mapping[str, object]) -> int:
    say(json.dumps(said), sys.stdout)
    return EXIT_DONE
