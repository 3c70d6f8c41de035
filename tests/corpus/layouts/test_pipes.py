from __future__ import annotations

import pytest

from sordino.corpus.layouts.pipes import decoded_file
from sordino.errors import UsageError


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("flac -c -d -s a/1.flac |", "a/1.flac"),
        ("flac -cds a/1.flac|", "a/1.flac"),
        ("flac --decode --stdout --silent 'two words/1.flac' |", "two words/1.flac"),
        ("/usr/bin/flac -c -d -s /data/1.flac |", "/data/1.flac"),
        ("flac -c -d -s two\\ words.flac |", "two words.flac"),
        ('flac -c -d -s "don\'t.flac" |', "don't.flac"),
        ("flac -c -d -s a#1.flac |", "a#1.flac"),
        ("sph2pipe -f wav -p a.sph |", "a.sph"),
        ("sph2pipe_v2.5/sph2pipe -f wav a.sph |", "a.sph"),
        ("sox a.mp3 -t wav - |", "a.mp3"),
        ("sox -t mp3 a.mp3 -t wav -r 16k -b 16 -e signed-integer -c 1 - |", "a.mp3"),
        ("sox -V1 a.wav -t wav - rate 16000 channels 1 |", "a.wav"),
        ("ffmpeg -v 8 -i a.m4a -f wav -acodec pcm_s16le -|", "a.m4a"),
        ("ffmpeg -nostdin -loglevel error -i a.m4a -ac 1 -ar 16000 -f wav pipe:1 |", "a.m4a"),
    ],
)
def test_plain_decoding_is_understood(command: str, file: str) -> None:
    assert decoded_file(command) == file


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cat a.wav |", "the command 'cat' is not one of flac, sph2pipe, sox, ffmpeg"),
        ("|", "the command '' is not one of"),
        ("flac -c -d -s |", "the flac command should name one file, and names 0"),
        ("flac -c -d -s a.flac b.flac |", "should name one file, and names 2"),
        ("flac -c -d --skip=100 a.flac |", "flac is given '--skip=100'"),
        ("sph2pipe -f wav -p -c 1 a.sph |", "sph2pipe is given '-c'"),
        ("sph2pipe -f raw a.sph |", "sph2pipe is given '-f raw'"),
        ("sox a.wav -t wav - remix 1 |", "sox is given 'remix'"),
        ("sox a.wav -t wav - speed 0.9 |", "sox is given 'speed'"),
        ("sox a.wav -t wav - trim 0 10 |", "sox is given 'trim'"),
        ("sox -v 2 a.wav -t wav - |", "sox is given '-v'"),
        ("sox -m a.wav b.wav -t wav - |", "sox is given '-m'"),
        ("sox a.wav b.wav -t wav - |", "should name one file, and names 2"),
        ("sox -t raw a.raw -t wav - |", "sox is given '-t raw'"),
        ("sox a.wav -c 2 -t wav - |", "sox is given '-c 2'"),
        ("sox a.wav -t wav - rate |", "sox is given 'rate '"),
        ("ffmpeg -ss 3 -i a.m4a -f wav - |", "ffmpeg is given '-ss'"),
        ("ffmpeg -i a.m4a -af atempo=2 -f wav - |", "ffmpeg is given '-af'"),
        ("ffmpeg -i a.m4a -i b.m4a -f wav - |", "should name one file, and names 2"),
        ("ffmpeg -i a.m4a b.wav |", "ffmpeg is given 'b.wav'"),
        ("ffmpeg -y -f wav - |", "should name one file, and names 0"),
        ("flac -c -d -s a.flac | sox - -t wav - |", "'|' would need one"),
        ("flac -c -d -s a.flac; rm -rf / |", "';' would need one"),
        ("flac -c -d -s a.flac && true |", "'&&' would need one"),
        ("flac -c -d -s $(ls) |", "would need one"),
        ("flac -c -d -s $data/a.flac |", "'$data/a.flac' would need one"),
        ("flac -c -d -s `ls` |", "would need one"),
        ("flac -c -d -s < a.flac |", "'<' would need one"),
        ("flac -c -d -s 'a.flac |", "the command cannot be understood (No closing quotation)"),
    ],
)
def test_all_else_is_refused(command: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        decoded_file(command)
    assert message in str(caught.value)
