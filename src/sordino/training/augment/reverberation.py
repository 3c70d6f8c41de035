"""Rooms: impulse responses by the image-source method, and speech heard in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float32]

_MOST_REFLECTIONS = 12


def simulate_rooms(count: int, sample_rate: int, seed: int) -> list[FloatArray]:
    """Impulse responses of shoebox rooms, from a bathroom to a lecture room.

    Rooms measure 2 to 10 m by 2 to 8 m by 2.3 to 4 m, with walls for reverberation times from 0.1
    to 0.7 s (see `room_response`); speaker and microphone stand anywhere, at least 0.3 m from the
    walls.

    Args:
        count: how many.
        sample_rate: in Hz.
        seed: the same seed gives the same rooms.

    Returns:
        See `room_response`.

    Raises:
        UsageError: the package pyroomacoustics is missing.
    """
    generator = np.random.default_rng([seed, 1])
    responses: list[FloatArray] = []
    while len(responses) < count:
        size = generator.uniform([2.0, 2.0, 2.3], [10.0, 8.0, 4.0])
        time = generator.uniform(0.1, 0.7)
        places = generator.uniform(0.3, size - 0.3, size=(2, 3))
        response = room_response(size, time, places, sample_rate)
        if response is not None:
            responses.append(response)
    return responses


def room_response(
    size: npt.NDArray[np.float64],
    time: float,
    places: npt.NDArray[np.float64],
    sample_rate: int,
) -> FloatArray | None:
    """The impulse response of a shoebox room by the image-source method (Allen and Berkley, 1979).

    At most 12 reflections are followed. Where the walls reflect so well, or lie so close, that
    sound after them still counts, the response is cut off early and decays in less than the time
    asked for.

    Args:
        size: in metres, shape (3,).
        time: until sound has fallen by 60 dB, in seconds, by Sabine's formula.
        places: of speaker and microphone, in metres, shape (2, 3).
        sample_rate: in Hz.

    Returns:
        Shape (n,), from the direct sound on, which is 1 (a reflection may be louder); None where no
        walls reach so short a time in so large a room.

    Raises:
        UsageError: the package pyroomacoustics is missing.
    """
    try:
        import pyroomacoustics
    except ImportError as error:
        raise UsageError('simulated rooms need: pip install "sordino[train]"') from error
    try:
        absorption, order = pyroomacoustics.inverse_sabine(time, size)
    except ValueError:
        return None
    room = pyroomacoustics.ShoeBox(
        size,
        fs=sample_rate,
        materials=pyroomacoustics.Material(absorption),
        max_order=min(order, _MOST_REFLECTIONS),
    )
    room.add_source(places[0])
    room.add_microphone(places[1])
    room.compute_rir()
    return _from_direct_sound(np.asarray(room.rir[0][0]), places, sample_rate)


def reverberate(samples: FloatArray, response: FloatArray) -> FloatArray:
    """Speech as it sounds in a room, of the same length and the same mean power.

    Args:
        samples: shape (n,).
        response: impulse response, shape (m,).

    Example:
        >>> speech = np.ones(4, dtype=np.float32)
        >>> reverberate(speech, np.array([1.0, 0.0], dtype=np.float32))
        array([1., 1., 1., 1.], dtype=float32)
    """
    heard = fftconvolve(samples, response)[: samples.size]
    power = float(np.square(heard).mean())
    gain = np.sqrt(float(np.square(samples).mean()) / power) if power > 0 else 1.0
    return np.asarray(heard * gain, dtype=np.float32)


def _from_direct_sound(
    response: npt.NDArray[np.float64], places: npt.NDArray[np.float64], sample_rate: int
) -> FloatArray:
    # The strongest tap near the direct path's delay; the simulator adds a delay of its own.
    distance = float(np.linalg.norm(places[0] - places[1]))
    limit = int(distance / 343.0 * sample_rate) + 100
    direct = int(np.abs(response[:limit]).argmax())
    return np.asarray(response[direct:] / response[direct], dtype=np.float32)
