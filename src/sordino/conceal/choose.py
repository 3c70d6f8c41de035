"""Which concealer is for vectors of an encoder, where nobody names one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from sordino.conceal.description import KIND
from sordino.errors import SordinoError, UsageError
from sordino.models.bundle import Bundle
from sordino.models.find import installed

_NAME_ONE = "name a concealer with --model (see: sordino models list)"


def concealer_for(
    digest: str, encoder: str = "", *, environment: Mapping[str, str] = os.environ
) -> str:
    """The name of the concealer that is made for an encoder.

    Args:
        digest: of the encoder; "" where it is not known.
        encoder: its name, for messages.
        environment: see `sordino.models.find.places`.

    Returns:
        A name for `sordino.conceal.load`: of your own models folder, else of the package.

    Raises:
        UsageError: the encoder is not known, or no concealer, or more than one of your own, is for
            it.

    Example:
        >>> from sordino.speaker.encoders import load_encoder
        >>> concealer_for(load_encoder("ecapa-small").digest, environment={"SORDINO_MODELS": "."})
        'conceal-sex-ecapa-small'
    """
    if not digest:
        raise UsageError(f"nothing says of which encoder the vectors are; {_NAME_ONE}")
    found: dict[str, list[str]] = {"user": [], "package": []}
    for name, place in _for(digest, environment):
        found[place].append(name)
    names = found["user"] or found["package"]
    if not names:
        of = f"{encoder} ({digest[:8]})" if encoder else digest[:8]
        raise UsageError(f"no concealer is for vectors of {of}; {_NAME_ONE}")
    if len(names) > 1:
        raise UsageError(
            f"several concealers are for vectors of {encoder or digest[:8]}: {', '.join(names)};"
            " name one with --model"
        )
    return names[0]


def _for(digest: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, place in installed(environment):
        try:
            bundle = Bundle.peek(place.folder / name)
        except SordinoError:
            # A damaged model is no choice; `sordino models list` says what is wrong with it.
            continue
        made_for: Any = bundle.metadata.get("encoder")
        known = bundle.kind == KIND and isinstance(made_for, Mapping)
        if known and made_for.get("digest") == digest:
            yield name, place.name
