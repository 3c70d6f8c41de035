from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
import soundfile
import soxr

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.training.augment.chain import AugmentationSettings, Augmenter
from sordino.training.speaker.data import Collate, Crops, read_crop, repeated
from sordino.training.speaker.recipe import PerturbationSettings
from tests.helpers import write_voice
from tests.talkers import RATE, talkers


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=5, utterances=2, seconds=0.8)


def crops(corpus, **changes):
    chosen = {
        "sample_rate": RATE,
        "crop_seconds": (0.3, 0.6),
        "speeds": (),
        "batch": 4,
        "seed": 0,
        "targets": None,
        **changes,
    }
    made = Crops(corpus.utterances, **chosen)
    room = np.array([1.0, 0.5], dtype=np.float32)
    made.augmenter = Augmenter(AugmentationSettings(), RATE, [room], made.other_speech)
    return made


def same(one, other) -> bool:
    return one[1] == other[1] and torch.equal(one[0], other[0]) and torch.equal(one[2], other[2])


class TestCrops:
    def test_are_a_function_of_their_number(self, corpus):
        first, second = crops(corpus), crops(corpus)
        backwards = {number: second[number] for number in range(23, -1, -1)}
        assert all(same(first[number], backwards[number]) for number in range(24))

    def test_survive_being_sent_to_another_process(self, corpus):
        made = crops(corpus)
        sent = pickle.loads(pickle.dumps(made))  # noqa: S301
        assert all(same(made[number], sent[number]) for number in range(8))

    def test_seed_decides(self, corpus):
        assert not same(crops(corpus, crop_seconds=(0.5, 0.5))[0], crops(corpus, seed=1)[0])

    def test_have_one_length_in_a_step_and_several_over_all(self, corpus):
        made = crops(corpus)
        lengths = [{made[step * 4 + place][0].shape for place in range(4)} for step in range(6)]
        assert all(len(length) == 1 for length in lengths)
        assert len(set.union(*lengths)) > 3
        for step in range(200):
            assert 0.3 * RATE <= made.length_of(step) <= 0.6 * RATE

    def test_all_speakers_are_heard_alike(self, corpus):
        made = crops(corpus)
        made.augmenter = None
        heard = Counter(made[number][1] for number in range(400))
        assert sorted(heard) == list(range(5))
        assert min(heard.values()) > 50

    @pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
    def test_further_voices_have_their_share(self, corpus, share):
        # The last two speakers are further voices.
        made = crops(corpus, real=6, further_share=share)
        made.augmenter = None
        heard = Counter(made[number][1] for number in range(300))
        assert (heard[3] + heard[4]) / 300 == pytest.approx(share, abs=0.08)
        assert made.classes == 5

    def test_share_does_not_matter_where_there_are_no_further_voices(self, corpus):
        made = crops(corpus, further_share=0.7)
        assert {made[number][1] for number in range(40)} == set(range(5))

    def test_teacher_hears_the_crop_before_the_room_does(self, corpus):
        def teacher(waves, rate):
            assert rate == RATE
            return waves[:, :7]

        changes = PerturbationSettings(speed_octaves=0.3, tilt_db=3.0, overlap=0.5)
        made = crops(corpus, perturbation=changes, teacher=teacher)
        effects, made.augmenter = made.augmenter, None
        plain = [made[number] for number in range(12)]
        assert all(torch.equal(wave, heard) for wave, _, heard in plain)
        made.augmenter = effects
        augmented = [made[number] for number in range(12)]
        assert all(torch.equal(one[2], two[2]) for one, two in zip(plain, augmented, strict=True))
        unchanged = sum(torch.equal(wave, heard) for wave, _, heard in augmented)
        assert unchanged < 6
        batch = Collate(teacher, RATE)(augmented[:4])
        assert torch.equal(batch.targets, torch.stack([heard[:7] for _, _, heard in plain[:4]]))

    def test_speed_changes_by_at_most_so_many_octaves(self, tmp_path):
        path = tmp_path / "tone.wav"
        soundfile.write(path, np.sin(np.arange(2 * RATE) * 2 * np.pi * 1000 / RATE), RATE)
        made = Crops(
            [Utterance("tone", path, "tone")],
            sample_rate=RATE,
            crop_seconds=(0.5, 0.5),
            speeds=(),
            batch=4,
            seed=0,
            targets=None,
            perturbation=PerturbationSettings(speed_octaves=0.5),
        )
        peaks = [int(np.abs(np.fft.rfft(made[n][0].numpy())).argmax()) * 2 for n in range(60)]
        octaves = np.log2(np.array(peaks) / 1000)
        assert -0.51 < octaves.min() < -0.4
        assert 0.4 < octaves.max() < 0.51

    def test_labels_belong_to_the_speakers(self, corpus):
        vectors = np.arange(len(corpus), dtype=np.float32)[:, None]
        made = crops(corpus, targets=vectors)
        for number in range(40):
            _, label, target = made[number]
            assert corpus.utterances[int(target)].speaker == f"v{label}"

    def test_speeds_make_classes(self, tmp_path):
        tones = []
        for number, frequency in enumerate((500, 1000)):
            path = tmp_path / f"{number}.wav"
            soundfile.write(path, np.sin(np.arange(RATE) * 2 * np.pi * frequency / RATE), RATE)
            tones.append(Utterance(path.name, path, f"tone {number}"))
        made = Crops(
            tones,
            sample_rate=RATE,
            crop_seconds=(0.5, 0.5),
            speeds=(0.8, 1.25),
            batch=4,
            seed=0,
            targets=None,
        )
        assert made.classes == 6
        heard = {}
        for number in range(60):
            wave, label, _ = made[number]
            assert wave.shape == (RATE // 2,)
            heard[label] = int(np.abs(np.fft.rfft(wave.numpy())).argmax()) * 2
        assert heard == pytest.approx({0: 500, 1: 1000, 2: 400, 3: 800, 4: 625, 5: 1250}, abs=2)

    def test_without_effects_are_parts_of_the_recordings(self, corpus):
        made = crops(corpus, targets=np.arange(len(corpus), dtype=np.float32)[:, None])
        made.augmenter = None
        for number in range(10):
            wave, _, target = made[number]
            whole, _ = soundfile.read(corpus.utterances[int(target)].path, dtype="float32")
            windows = np.lib.stride_tricks.sliding_window_view(whole, wave.numel())
            assert (windows == wave.numpy()).all(axis=1).any()

    def test_can_be_put_together(self, corpus):
        made = crops(corpus, targets=np.ones((len(corpus), 3), np.float32))
        batch = Collate()([made[number] for number in range(4)])
        assert batch.waves.shape == (4, made.length_of(0))
        assert batch.waves.dtype == torch.float32
        assert batch.speakers.tolist() == [made[number][1] for number in range(4)]
        assert batch.targets.shape == (4, 3)
        assert Collate()([crops(corpus)[0]]).targets.shape == (1, 0)


class TestReadCrop:
    @pytest.mark.parametrize("ending", ["flac", "wav", "aiff", "au"])
    @pytest.mark.parametrize("where", [0.0, 0.37, 0.999999, 1.0])
    def test_is_the_slice_of_the_whole(self, tmp_path, ending, where):
        path = write_voice(tmp_path / f"a.{ending}", 1.3)
        whole = soundfile.read(path, dtype="float32")[0]
        crop = read_crop(Utterance("a", path, "a"), RATE, 5000, where)
        first = min(int(where * (whole.size - 5000 + 1)), whole.size - 5000)
        assert np.array_equal(crop, whole[first : first + 5000])

    @pytest.mark.parametrize("ending", ["mp3", "ogg", "opus"])
    @pytest.mark.parametrize("where", [0.0, 0.37, 0.9])
    def test_lossy_formats_give_the_slice_as_well(self, tmp_path, ending, where):
        path = write_voice(tmp_path / f"a.{ending}", 3.0)
        whole, rate = soundfile.read(path, dtype="float32")
        whole = soxr.resample(whole, rate, RATE)
        crop = read_crop(Utterance("a", path, "a"), RATE, 8000, where)
        first = int(where * (whole.size - 8000 + 1))
        error = np.square(crop - whole[first : first + 8000]).mean()
        assert error < 1e-4 * np.square(whole).mean()

    @pytest.mark.parametrize("rate", [8000, 22050, 48000])
    def test_other_rates_are_resampled(self, tmp_path, rate):
        path = write_voice(tmp_path / "a.flac", 1.0, rate)
        whole = soxr.resample(soundfile.read(path, dtype="float32")[0], rate, RATE)
        crop = read_crop(Utterance("a", path, "a"), RATE, 4000, 0.5)
        first = int(0.5 * (whole.size - 4000 + 1))
        assert np.allclose(crop, whole[first : first + 4000], atol=1e-3)

    def test_channels_are_averaged(self, tmp_path):
        path = write_voice(tmp_path / "a.wav", 1.0, channels=2)
        whole = soundfile.read(path, dtype="float32")[0].mean(axis=1)
        crop = read_crop(Utterance("a", path, "a"), RATE, 4000, 0.0)
        assert np.allclose(crop, whole[:4000], atol=1e-7)

    @pytest.mark.parametrize(("start", "end"), [(0.25, 0.75), (None, 0.75), (0.25, None)])
    def test_parts_of_recordings_stay_inside_the_part(self, tmp_path, start, end):
        path = write_voice(tmp_path / "a.flac", 1.0)
        whole = soundfile.read(path, dtype="float32")[0]
        part = whole[round((start or 0) * RATE) : round((end or 1) * RATE)]
        utterance = Utterance("a", path, "a", start=start, end=end)
        assert np.array_equal(read_crop(utterance, RATE, 20000, 0.0), part)
        assert np.array_equal(read_crop(utterance, RATE, 1000, 1.0), part[-1000:])

    def test_video_and_others_go_through_the_general_reader(self, tmp_path):
        path = write_voice(tmp_path / "a.wav", 1.0)
        strange = path.rename(tmp_path / "a.raw-ish")
        crop = read_crop(Utterance("a", strange, "a"), RATE, 100, 0.0)
        assert crop.shape == (100,)

    def test_too_short_files_are_given_whole_and_said_again(self, tmp_path):
        path = write_voice(tmp_path / "a.flac", 0.2)
        utterance = Utterance("a", path, "anna")
        crop = read_crop(utterance, RATE, 8000, 0.7)
        assert np.array_equal(crop, soundfile.read(path, dtype="float32")[0])
        made = Crops(
            [utterance],
            sample_rate=RATE,
            crop_seconds=(0.5, 0.5),
            speeds=(),
            batch=2,
            seed=0,
            targets=None,
        )
        wave = made[0][0].numpy()
        assert np.array_equal(wave, np.tile(crop, 3)[:8000])

    @pytest.mark.parametrize("kind", ["missing", "damaged", "nan"])
    def test_what_cannot_be_heard_is_named(self, tmp_path, kind):
        path = tmp_path / "bad.wav"
        if kind == "damaged":
            path.write_bytes(b"RIFF" + bytes(100))
        if kind == "nan":
            soundfile.write(path, np.full(4000, np.nan), RATE, subtype="FLOAT")
        with pytest.raises(AudioError, match=r"bad\.wav: "):
            read_crop(Utterance("a", path, "a"), RATE, 2000, 0.0)

    def test_file_that_breaks_in_the_middle_is_named(self, tmp_path):
        path = write_voice(tmp_path / "bad.flac", 4.0)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(AudioError, match=r"bad\.flac"):
            read_crop(Utterance("a", path, "a"), RATE, 2000, 1.0)

    def test_real_speech(self, speech_root):
        path = min((speech_root / "librispeech").rglob("*.flac"))
        whole, _ = soundfile.read(path, dtype="float32")
        crop = read_crop(Utterance("a", path, "a"), RATE, 16000, 0.5)
        first = int(0.5 * (whole.size - 16000 + 1))
        assert np.array_equal(crop, whole[first : first + 16000])


@given(st.integers(1, 50), st.integers(1, 300))
@settings(deadline=None)
def test_repeated_is_a_loop(size, length):
    samples = np.arange(size, dtype=np.float32)
    assert np.array_equal(repeated(samples, length), np.arange(length) % size)
