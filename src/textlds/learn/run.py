"""From counts to a model: the sketch, subspace identification, EM, and what to do when it is interrupted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np

from textlds._version import __version__
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError, FormatError, TextLDSError
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.lds.steady import steady_state
from textlds.learn.checkpoint import LEXICON, SKETCH, STEP, Checkpoint, SavedStep
from textlds.learn.em import FIRST_RELAXATION, EMStep, check_horizon, em_steps
from textlds.learn.history import History
from textlds.learn.little import warn_of_little
from textlds.learn.moments import Moments, WordMoments, word_moments
from textlds.learn.settings import FitSettings
from textlds.learn.sketch import Sketch, lost_energy, products, projected, sketch
from textlds.learn.ssid import neighbour_start, random_start, subspace_identification
from textlds.lexicon.lexicon import Lexicon, make_lexicon
from textlds.lexicon.observed import observe
from textlds.linalg.threads import check_threads, one_blas_thread
from textlds.linalg.types import Vector
from textlds.progress import Progress, ProgressOption, resolve
from textlds.storage.work import STAGE, Work

_log = logging.getLogger("textlds")
_SAVE_EVERY = 15.0  # seconds between checkpoints


Model = TypeVar("Model")


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit found: everything that a model is made of.

    Attributes:
        params: A, C, Q and D.
        vocabulary: The words, in the order of the rows of C.
        frequencies: μ, (V,).
        moments: Second moments of the posterior means over the corpus.
        lexicon: What words are like by themselves; an observed one if C is that of observed profiles.
        history: How it was learnt.
    """

    params: LDSParams
    vocabulary: Vocabulary
    frequencies: Vector
    moments: PosteriorMoments
    lexicon: Lexicon | None
    history: History


@dataclass(frozen=True)
class FitStep(Generic[Model]):
    """What a callback sees after every iteration.

    Attributes:
        iteration: How many iterations are done; 0 is the start.
        log_likelihood: Per token, relative to the static model.
    """

    iteration: int
    log_likelihood: float
    _build: Callable[[], Model]

    def model(self) -> Model:
        """Return the model after this iteration, to measure whatever decides when to stop."""
        return self._build()


Callback = Callable[[FitStep[Model]], bool | None]


def fit_counts(
    counts: LagCounts,
    settings: FitSettings,
    build: Callable[[Fitted], Model],
    *,
    callback: Callback[Model] | None = None,
    work: Work | None = None,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Model:
    """Fit counts with these settings; see :func:`textlds.fit`.

    Args:
        counts: What to fit.
        settings: How.
        build: Makes a model of what was found.
        callback: Called after every iteration; True stops.
        work: Where unfinished work is kept, and taken up if it is there.
        threads: How many; all cores by default.
        progress: Whether or where to show progress.
    """
    if not isinstance(counts, LagCounts):
        raise ArgumentError(f"counts must be LagCounts, as textlds.count returns them, not {type(counts).__name__}.")
    with one_blas_thread():
        run = FitRun(counts, settings, build, callback, check_threads(threads), resolve(progress))
        if work is None:
            return run.run(None)
        new = work.begin(_job(counts, settings))
        try:
            return run.run(Checkpoint(work.parts))
        except TextLDSError:
            if new:  # these settings cannot work: nothing of them is in the way of others
                work.parts.forget(STAGE, SKETCH, LEXICON, STEP)
            raise


@dataclass(frozen=True)
class _Phase:
    """A run of EM iterations on one set of moments."""

    moments: Moments
    iterations: int
    sketch: Sketch | None  # what the state of this phase must be lifted by to be a model of words


class FitRun(Generic[Model]):
    """One run of :func:`fit_counts`."""

    def __init__(
        self,
        counts: LagCounts,
        settings: FitSettings,
        build: Callable[[Fitted], Model],
        callback: Callback[Model] | None,
        threads: int,
        progress: Progress,
        *,
        words: WordMoments | None = None,
        sketched: Sketch | None = None,
        lexicon: Lexicon | None = None,
    ) -> None:
        settings.check_counts(len(counts.vocabulary), counts.max_lag)
        warn_of_little(counts, settings)
        settings = settings.resolved(counts.tokens, len(counts.vocabulary), counts.max_lag)
        self._counts, self._settings, self._build, self._callback = counts, settings, build, callback
        self._checkpoint: Checkpoint | None = None
        self._sketched, self._lexicon = sketched, lexicon
        self._threads, self._progress = threads, progress
        self._began = self._saved_at = time.perf_counter()
        self._words = words or word_moments(
            counts.unigrams, counts.lags, pseudocount=settings.pseudocount, threads=threads
        )
        check_horizon(self._words, settings.em_horizon)
        self._root = np.sqrt(self._words.frequencies)
        self._history = History(settings=_record(counts, settings, self._words))

    def run(self, checkpoint: Checkpoint | None) -> Model:
        """Go through the phases, from the start or from where the checkpoint left off."""
        self._checkpoint = checkpoint
        saved = checkpoint.load_step(self._root) if checkpoint else None
        if saved is not None:
            self._take_up(saved)
        if self._settings.observations == "profiles":
            phases = [self._observing()]
        else:
            phases = self._phases(polishing=saved is not None and saved.phase > 0)
        sizes = [phase.moments.size for phase in phases]
        if saved is not None and sizes[saved.phase :][:1] != [len(saved.params.C)]:
            raise FormatError("the last step of this unfinished fit is of other counts. Start again with --force.")
        fresh = FIRST_RELAXATION if self._settings.acceleration == "overrelaxed" else 1.0
        first, done, relaxation = (saved.phase, saved.done, saved.relaxation) if saved else (0, 0, fresh)
        params = saved.params if saved else self._start(phases[0].moments)
        if self._lexicon is None:
            self._lexicon = self._make_lexicon()  # not before: what the counts cannot give is refused by now
        for number in range(first, len(phases)):
            step, stopped = self._iterate(params, phases[number], number, done, relaxation)
            step = self._lifted(step, phases[number].sketch)
            self._estimate_loss(step, phases[number].sketch)
            if stopped:
                break
            params, done, relaxation = step.params, 0, fresh
        return self._model(step)

    def _take_up(self, saved: SavedStep) -> None:
        """Go on with the history of an interrupted fit, under the settings of this one."""
        before, now = saved.history.settings["iterations"], self._settings.iterations
        if saved.phase > 0 and before != now:
            raise ArgumentError(
                f"iterations={now}, but this fit was interrupted after {before} iterations on the sketch, while it was "
                f"being polished. Resume with iterations={before}, or start again with --force."
            )
        self._history = replace(saved.history, settings={**saved.history.settings, **self._history.settings})
        self._began -= saved.history.seconds[-1] if saved.history.seconds else 0.0

    @property
    def _steps(self) -> int:
        return cast("int", self._settings.iterations)

    def _phases(self, *, polishing: bool) -> list[_Phase]:
        settings = self._settings
        size = settings.sketch_size(len(self._root))
        if size is None:
            return [_Phase(self._words, self._steps + settings.polish, None)]
        sketched = self._sketch(size)
        phases = [_Phase(sketched.moments, self._steps, sketched)]
        return phases + [_Phase(self._words, settings.polish, None)] * (settings.polish > 0 or polishing)

    def _make_lexicon(self) -> Lexicon:
        rows, size, about = len(self._root), self._settings.size, self._settings.about
        lexicon = self._checkpoint.load_lexicon(rows, size, about) if self._checkpoint else None
        if lexicon is None:
            lexicon = make_lexicon(
                self._counts, self._words.lags[0].counts, size, meaning_size=about,
                window=self._settings.meaning_window, seed=self._settings.seed, threads=self._threads,
                progress=self._progress,
            )  # fmt: skip
            if self._checkpoint:
                self._checkpoint.save_lexicon(lexicon)
        return lexicon

    def _observing(self) -> _Phase:
        """Return the iterations on the moments of observed profiles."""
        frequencies, vocabulary = self._words.frequencies, self._counts.vocabulary
        seen = observe(self._lexicon or self._make_lexicon(), frequencies, vocabulary)
        self._lexicon = seen
        if seen.size < self._settings.size:
            _log.warning(
                "state_size=%d, but the profiles of these %d words have rank %d; the state has %d numbers. "
                "Count more text for more.", self._settings.size, len(vocabulary), seen.size, seen.size,
            )  # fmt: skip
            self._settings = self._settings.replace(state_size=seen.size)
            self._history.settings["state_size"] = seen.size
        found = self._checkpoint.load_sketch(threads=self._threads) if self._checkpoint else None
        if found is None:
            with self._progress.task("Moments", len(self._words.lags), "lags") as task:
                found = projected(
                    self._words, seen.basis(frequencies, self._threads), seen.size,
                    threads=self._threads, on_product=task.advance,
                )  # fmt: skip
            if self._checkpoint:
                self._checkpoint.save_sketch(replace(found, basis=found.basis[:0]))  # it is made again in no time
        return _Phase(found.moments, self._steps, None)

    def _sketch(self, size: int) -> Sketch:
        if self._sketched is None and self._checkpoint:
            self._sketched = self._checkpoint.load_sketch(threads=self._threads)
        if self._sketched is None:
            self._sketched = make_sketch(self._words, size, self._settings.seed, self._threads, self._progress)
            if self._checkpoint:
                self._checkpoint.save_sketch(self._sketched)
        return self._sketched

    def _start(self, moments: Moments) -> LDSParams:
        settings, rng = self._settings, np.random.default_rng([self._settings.seed, 2])
        if settings.start == "random":
            return random_start(moments, settings.size, rng=rng, noise=settings.noise)
        if settings.start == "neighbours":
            return neighbour_start(moments, settings.size, rng=rng)
        with self._progress.task("Subspace", None) as task:
            params = subspace_identification(
                moments,
                settings.size,
                horizon=settings.ssid_horizon,
                rng=rng,
                output=settings.ssid_output,
                covariance=settings.ssid_covariance,
                noise=settings.noise,
                whitened=settings.ssid_whitened,
            )
            task.advance()
        return params

    def _iterate(
        self, params: LDSParams, phase: _Phase, number: int, done: int, relaxation: float
    ) -> tuple[EMStep, bool]:
        """Do EM until the phase's iterations are done, an iteration gains too little, or the callback says so.

        Returns:
            The last step, and whether it was the callback that stopped.
        """
        name = "EM" if number == 0 else "Polish"
        with self._progress.task(name, phase.iterations, "iterations") as task:
            task.advance(done)
            steps = em_steps(
                params, phase.moments, horizon=self._settings.em_horizon, first=done, relaxation=relaxation
            )
            for step in steps:
                if step.stalled:
                    task.advance(
                        0, f"stopped at {step.log_likelihood:.4f} nats per token: the next step would lose some"
                    )
                elif step.iteration > done:
                    self._note(step)
                    task.advance(1, f"log-likelihood {step.log_likelihood:.4f}")
                elif not self._history.log_likelihood:
                    self._history = replace(self._history, start=float(step.log_likelihood))
                # a phase begins where the one before ended: the callback has seen that
                seen = step.stalled or (number > 0 and step.iteration == 0)
                stopped = not seen and self._stopped_by_callback(step, phase)
                last = stopped or self._is_last(step, phase)
                self._save(step, number, last=last)
                if last:
                    return step, stopped
        raise AssertionError("EM has no last step")

    def _note(self, step: EMStep) -> None:
        self._history.log_likelihood.append(float(step.log_likelihood))  # a NumPy scalar would print as one
        self._history.seconds.append(time.perf_counter() - self._began)

    def _stopped_by_callback(self, step: EMStep, phase: _Phase) -> bool:
        def build() -> Model:
            return self._model(self._lifted(step, phase.sketch))

        if self._callback is None:
            return False
        return bool(self._callback(FitStep(self._history.iterations, step.log_likelihood, build)))

    def _is_last(self, step: EMStep, phase: _Phase) -> bool:
        if step.iteration >= phase.iterations or step.stalled:
            return True
        if step.iteration == 0 or self._settings.tolerance == 0:
            return False
        before, after = [self._history.start, *self._history.log_likelihood][-2:]
        return before is not None and after is not None and after - before < self._settings.tolerance

    def _save(self, step: EMStep, phase: int, *, last: bool) -> None:
        now = time.perf_counter()
        if self._checkpoint is not None and (last or step.iteration == 0 or now - self._saved_at > _SAVE_EVERY):
            self._checkpoint.save_step(SavedStep(step.params, phase, step.iteration, step.relaxation, self._history))
            self._saved_at = time.perf_counter()

    def _lifted(self, step: EMStep, sketched: Sketch | None) -> EMStep:
        if sketched is None:
            return step
        params = sketched.lift(step.params)
        return replace(step, params=params, steady=steady_state(params))

    def _estimate_loss(self, step: EMStep, sketched: Sketch | None) -> None:
        """Put on record how much of C the sketch leaves out."""
        if sketched is not None:
            rng = np.random.default_rng([self._settings.seed, 3])
            lost = lost_energy(self._words, sketched.basis, step, horizon=self._settings.em_horizon, rng=rng)
            self._history.settings["sketch_loss"] = lost

    def _model(self, step: EMStep) -> Model:
        statistics = step.statistics
        moments = PosteriorMoments(statistics.filt_filt, statistics.smooth_filt, statistics.smooth_smooth)
        history = replace(
            self._history,
            log_likelihood=list(self._history.log_likelihood),
            seconds=list(self._history.seconds),
            settings=dict(self._history.settings),
        )
        frequencies, vocabulary = self._words.frequencies, self._counts.vocabulary
        return self._build(Fitted(step.params, vocabulary, frequencies, moments, self._lexicon, history))


def make_sketch(words: WordMoments, size: int, seed: int, threads: int, progress: Progress) -> Sketch:
    """Sketch the moments with a bar that shows how far it is."""
    with progress.task("Sketch", products(len(words.lags)), "products") as task:
        rng = np.random.default_rng([seed, 1])
        return sketch(words, size, rng=rng, threads=threads, on_product=task.advance)


def _record(counts: LagCounts, settings: FitSettings, moments: WordMoments) -> dict[str, Any]:
    """Return what a model's history says of how it was made."""
    return {
        **settings.to_json(),
        "pseudocount_used": moments.pseudocount,
        "sketch_size": settings.sketch_size(len(counts.vocabulary)),
        "tokens": counts.tokens,
        "vocabulary": len(counts.vocabulary),
        "max_lag": counts.max_lag,
        "repeats": "all",
        "min_count": 1,
        **counts.record,
        "text": counts.settings.to_json(),
        "textlds_version": __version__,
    }


def _job(counts: LagCounts, settings: FitSettings) -> dict[str, Any]:
    """Return the counts and settings that must match before a fit can be resumed."""
    facts = {"tokens": counts.tokens, "vocabulary": len(counts.vocabulary), "pairs": list(counts.pairs)}
    # more iterations than were asked for at first may be asked for on resuming
    return {name: value for name, value in {**settings.to_json(), **facts}.items() if name not in _MAY_CHANGE}


_MAY_CHANGE = ("iterations", "tolerance", "polish")
