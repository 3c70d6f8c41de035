"""Make the recordings in `examples/` with two speech synthesizers.

Needs the programs `flite` and `espeak-ng` (Debian packages of the same names):

    python tools/make_examples.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import soundfile

EXAMPLES = Path(__file__).parent.parent / "examples"

# file, synthesizer, its voice, text
RECORDINGS = (
    (
        "anna/appointment.wav",
        "flite",
        "slt",
        "I called the clinic on Monday, and they moved my"
        " appointment to the third of May at half past nine.",
    ),
    (
        "anna/voicemail.mp3",
        "flite",
        "slt",
        "Hello, this is Anna. Please call me back when you can,"
        " it is about the lease for the flat.",
    ),
    (
        "bruno/interview.flac",
        "flite",
        "rms",
        "We started the workshop in the old harbour, and for"
        " two years nobody knew that we were there.",
    ),
    (
        "bruno/note.ogg",
        "flite",
        "rms",
        "Remember to ask the witness who opened the door, and who had the key.",
    ),
    (
        "callum/report.wav",
        "flite",
        "awb",
        "The river rose by forty centimetres overnight, and the"
        " bridge at the mill is closed to all traffic.",
    ),
    (
        "dora/bericht.flac",
        "espeak-ng",
        "de+f3",
        "Am Dienstag habe ich mit der Ärztin gesprochen, seitdem geht es mir viel besser.",
    ),
    (
        "elena/mensaje.wav",
        "espeak-ng",
        "es+f4",
        "La reunión empieza a las diez, pero el tren de Sevilla siempre llega con retraso.",
    ),
)


def main() -> None:
    """Write every recording."""
    for name, program, voice, text in RECORDINGS:
        target = EXAMPLES / name
        target.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            spoken = Path(folder) / "spoken.wav"
            if program == "flite":
                command = ["flite", "-voice", voice, "-t", text, "-o", spoken]
            else:
                command = ["espeak-ng", "-v", voice, "-s", "150", "-w", spoken, text]
            subprocess.run(command, check=True)
            samples, rate = soundfile.read(spoken)
        soundfile.write(target, samples, rate)


if __name__ == "__main__":
    main()
