from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")


from sordino.corpus.utterance import Utterance
from sordino.training.augment.chain import AugmentationSettings, Augmenter
from sordino.training.speaker.data import Collate, Crops
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

    def test_say_short_recordings_again(self, tmp_path):
        path = write_voice(tmp_path / "a.flac", 0.2)
        made = Crops(
            [Utterance("a", path, "anna")],
            sample_rate=RATE,
            crop_seconds=(0.5, 0.5),
            speeds=(),
            batch=2,
            seed=0,
            targets=None,
        )
        whole = soundfile.read(path, dtype="float32")[0]
        assert np.array_equal(made[0][0].numpy(), np.tile(whole, 3)[:8000])

    def test_can_be_put_together(self, corpus):
        made = crops(corpus, targets=np.ones((len(corpus), 3), np.float32))
        batch = Collate()([made[number] for number in range(4)])
        assert batch.waves.shape == (4, made.length_of(0))
        assert batch.waves.dtype == torch.float32
        assert batch.speakers.tolist() == [made[number][1] for number in range(4)]
        assert batch.targets.shape == (4, 3)
        assert Collate()([crops(corpus)[0]]).targets.shape == (1, 0)
