"""Speaker encoders that are a single ONNX file of somebody else."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from sordino.errors import UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.models.session import Session
from sordino.speaker.encoders import GRAPH, KIND

SAMPLE_RATE = 16_000
MINIMUM_SECONDS = 0.5


def bundle_of(file: Path, folder: Path, *, sample_rate: int = SAMPLE_RATE) -> Bundle:
    """Make a model of an ONNX file, so that it can be used as any other encoder.

    The graph has to take one input, float32 (batch, samples), mono with full scale 1, both sizes
    free, and to give one output, float32 (batch, dimension). Names do not matter.

    Args:
        file: the graph, with all its weights in it.
        folder: the bundle goes below; one that was made of the same file before is taken.
        sample_rate: what the graph listens at, in Hz.

    Raises:
        UsageError: there is no such file, or the graph is another one.
        OutputError: the bundle cannot be written.

    Example:
        >>> bundle = bundle_of(Path("mine.onnx"), Path("models"))  # doctest: +SKIP
        >>> OnnxEncoder(bundle).embed_file("anna.wav").shape  # doctest: +SKIP
        (256,)
    """
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    place = folder / f"{file.stem}-{digest[:16]}-{sample_rate}"
    if place.is_dir():
        return Bundle.load(place)
    metadata = {
        "kind": KIND,
        "name": file.stem,
        "summary": f"Made of {file.name}.",
        "licence": "not stated",
        "sample_rate": sample_rate,
        "minimum_samples": round(MINIMUM_SECONDS * sample_rate),
    }
    card = f"# {file.stem}\n\nMade of {file.name} (SHA-256 {digest}).\n".encode()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        probe = write_bundle(
            Path(scratch) / "probe", {**metadata, "dimension": 1}, {GRAPH: file, "CARD.md": card}
        )
        try:
            session = Session(probe, GRAPH)
        except UsageError as error:
            reason = str(error).rpartition(f"{GRAPH} ")[2]
            raise UsageError(f"{file}: {reason}") from error
        input_name, output_name, dimension = _ends(file, session)
    return write_bundle(
        place,
        {**metadata, "dimension": dimension, "input": input_name, "output": output_name},
        {GRAPH: file, "CARD.md": card},
    )


def _ends(file: Path, session: Session) -> tuple[str, str, int]:
    """Names of the input and the output, and how many numbers the output has."""
    if len(session.inputs) != 1 or len(session.outputs) != 1:
        raise UsageError(
            f"{file}: has {len(session.inputs)} inputs and {len(session.outputs)} outputs; a"
            " speaker encoder has one input, the samples, and one output, the vectors"
        )
    ((input_name, takes),) = session.inputs.items()
    ((output_name, gives),) = session.outputs.items()
    if len(takes) != 2 or any(isinstance(size, int) for size in takes):
        raise UsageError(
            f"{file}: takes an input of shape {takes}; expected (batch, samples), both free"
        )
    if len(gives) != 2 or not isinstance(gives[1], int):
        raise UsageError(f"{file}: gives an output of shape {gives}; expected (batch, dimension)")
    return input_name, output_name, gives[1]
