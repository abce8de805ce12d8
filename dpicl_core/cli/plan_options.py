"""Options that several commands share, and the public values that they stand for."""

from __future__ import annotations

import argparse
from dataclasses import replace

from dpicl_core.cli.parsing import number, numbers, positive, whole
from dpicl_core.errors import ConfigError
from dpicl_core.planning import (
    DEFAULT_GROUPING,
    DEFAULT_MECHANISM,
    DEFAULT_NOISE_SPLIT,
    DEFAULT_VOCABULARY,
    mechanism_named,
)
from dpicl_core.sampling import Grouping
from dpicl_core.specs import AdaDPSynSpec, AnchoredSpec, MechanismSpec, TangGaussianSpec, TangNoisyMaxSpec
from dpicl_core.values import Selection

SIGMA_OPTIONS = ("sigma", "sigma0", "sigma1", "sigma2", "epsilon0")


def add_mechanism_options(parser: argparse.ArgumentParser, *, names: tuple[str, ...]) -> None:
    """Mechanism, its settings and its noise."""
    parser.add_argument(
        "--mechanism",
        choices=names,
        default=DEFAULT_MECHANISM,
        help="how noise protects each token (default: %(default)s)",
    )
    add_setting_options(parser)
    noise = parser.add_argument_group("noise given by hand, instead of --epsilon (noise multipliers, no unit)")
    noise.add_argument("--sigma", type=positive, help="Tang Gaussian: noise / sensitivity of the sum")
    noise.add_argument("--sigma0", type=positive, help="AdaDPSyn: radius search")
    noise.add_argument("--sigma1", type=positive, help="AdaDPSyn and anchored: means")
    noise.add_argument("--sigma2", type=positive, help="AdaDPSyn: coverage checks")
    noise.add_argument("--epsilon0", type=positive, help="Tang noisy max: loss of one token before sampling")


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Public settings of the mechanisms."""
    group = parser.add_argument_group("mechanism settings (public)")
    group.add_argument("--iterations", type=whole(1), default=1, metavar="T", help="AdaDPSyn: refinements at most (T^)")
    group.add_argument(
        "--margin", type=number, default=0.2, metavar="LAMBDA", help="AdaDPSyn: margin lambda added to the radius"
    )
    group.add_argument(
        "--simplex", choices=("clip", "euclidean"), default="clip", help="AdaDPSyn: step back to the simplex"
    )
    group.add_argument(
        "--noise-split",
        type=numbers,
        metavar="A,B,C",
        help="AdaDPSyn: shares of the budget for radius search, means, coverage checks (add to 1; default "
        + ",".join(f"{share:g}" for share in DEFAULT_NOISE_SPLIT)
        + ")",
    )
    group.add_argument(
        "--schedule",
        type=numbers,
        metavar="R1,R2",
        help="anchored: falling radii, fixed in advance from public things (default 0.30,0.15)",
    )
    group.add_argument(
        "--whole-vocabulary",
        action="store_true",
        help="Tang: use every token as a candidate instead of the public top K",
    )


def add_sampling_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """M, N and T_max."""
    group = parser.add_argument_group("sampling")
    note = "" if required else "; default: the task's"
    group.add_argument(
        "--subsets",
        type=whole(2),
        required=required,
        metavar="M",
        help=f"groups of rows per token, one private prompt each{note}",
    )
    group.add_argument(
        "--per-subset", type=whole(1), required=required, metavar="N", help=f"rows in one private prompt{note}"
    )
    group.add_argument(
        "--tokens", type=whole(1), required=required, metavar="T_MAX", help=f"tokens per demonstration at most{note}"
    )
    group.add_argument(
        "--grouping",
        choices=[grouping.value for grouping in Grouping],
        default=DEFAULT_GROUPING.value,
        help="fixed: the rows of a prompt stay together for the run, priced at M/floor(n/N), and are remembered, which "
        f"is faster; fresh: they are drawn anew at every token, priced at M*N/n (default {DEFAULT_GROUPING.value})",
    )


def add_generation_options(parser: argparse.ArgumentParser) -> None:
    """Candidates, caps and selection."""
    group = parser.add_argument_group("generation")
    group.add_argument(
        "--vocabulary",
        type=whole(2),
        default=DEFAULT_VOCABULARY,
        metavar="K",
        help="candidate tokens, the likeliest of the public prompt",
    )
    group.add_argument(
        "--record-tokens",
        type=whole(4),
        metavar="CAP",
        help="cap on one example in tokens, label and text together; default: the task's",
    )
    group.add_argument(
        "--min-tokens", type=whole(1), metavar="N", help="tokens before a demonstration may end; default: the task's"
    )


def add_selection_options(parser: argparse.ArgumentParser) -> None:
    """How a released vector becomes a token; post-processing, so it costs nothing."""
    group = parser.add_argument_group("selection (free: post-processing of what was released)")
    group.add_argument(
        "--selection", choices=("argmax", "sample"), default="argmax", help="largest entry, or a sample of the vector"
    )
    group.add_argument("--temperature", type=positive, metavar="T", help="sampling: below 1 is safer (default 1)")
    group.add_argument(
        "--top-p", type=positive, metavar="P", help="sampling: likeliest tokens up to this probability (default 1)"
    )


def selection_from(arguments: argparse.Namespace) -> Selection:
    """The selection; ConfigError where sampling settings are given for argmax."""
    if arguments.selection == "argmax":
        if arguments.temperature is not None or arguments.top_p is not None:
            raise ConfigError("--temperature and --top-p belong to --selection sample; give that, or leave them out.")
        return Selection()
    return Selection(sample=True, temperature=arguments.temperature or 1.0, top_p=arguments.top_p or 1.0)


def add_privacy_options(parser: argparse.ArgumentParser) -> None:
    """Epsilon, delta and who decides."""
    group = parser.add_argument_group("privacy")
    group.add_argument("--epsilon", type=positive, help="privacy loss epsilon that the noise is calibrated to")
    group.add_argument(
        "--accountant",
        choices=("tight", "paper"),
        default="tight",
        help="accountant that the calibration trusts; both are reported",
    )
    group.add_argument(
        "--delta",
        type=number,
        help="probability that epsilon may be exceeded; default: largest power of ten at or under 1/(10 n)",
    )
    group.add_argument("--accept-delta", action="store_true", help="accept a delta above 1/n")


def listed_names(text: str) -> list[str]:
    """Names separated by commas, blanks around them dropped."""
    return [name.strip() for name in text.split(",") if name.strip()]


def mechanism_from(arguments: argparse.Namespace) -> tuple[MechanismSpec, bool]:
    """The mechanism and whether its noise was given by hand; ConfigError where options do not fit together."""
    template = mechanism_named(arguments.mechanism)
    given = {name: getattr(arguments, name) for name in SIGMA_OPTIONS if getattr(arguments, name) is not None}
    wanted = _noise_options(template)
    stray = [name for name in given if name not in wanted]
    if stray:
        raise ConfigError(
            f"--{stray[0]} does not belong to {template.name}; its noise is set by "
            f"{', '.join('--' + name for name in wanted) or 'nothing'}."
        )
    missing = [name for name in wanted if name not in given]
    if given and missing:
        raise ConfigError(f"--{missing[0]} is missing; {template.name} needs all of its noise multipliers, or none.")
    if given and arguments.epsilon is not None:
        raise ConfigError("both --epsilon and noise multipliers are given; give only one of them.")
    _check_settings(template, arguments)
    return replace(with_settings(template, arguments), **given), bool(given)


def _check_settings(spec: MechanismSpec, arguments: argparse.Namespace) -> None:
    """A setting of another mechanism would be ignored without a word; ConfigError."""
    others = {"adadpsyn": ("iterations", "margin", "simplex", "noise_split"), "anchored": ("schedule",)}
    usual = {"iterations": 1, "margin": 0.2, "simplex": "clip", "noise_split": None, "schedule": None}
    for owner, names in others.items():
        stray = [name for name in names if getattr(arguments, name) != usual[name]]
        if stray and spec.name != owner:
            raise ConfigError(
                f"--{stray[0].replace('_', '-')} belongs to {owner}, but the mechanism is {spec.name}; "
                f"give --mechanism {owner}, or leave it out."
            )


def _noise_options(spec: MechanismSpec) -> tuple[str, ...]:
    options: dict[type[MechanismSpec], tuple[str, ...]] = {
        AdaDPSynSpec: ("sigma0", "sigma1", "sigma2"),
        TangGaussianSpec: ("sigma",),
        TangNoisyMaxSpec: ("epsilon0",),
        AnchoredSpec: ("sigma1",),
    }
    return options.get(type(spec), ())


def with_settings(spec: MechanismSpec, arguments: argparse.Namespace) -> MechanismSpec:
    """The template with its public settings; the noise split is taken anew since it depends on T^."""
    if isinstance(spec, AdaDPSynSpec):
        settings = replace(spec, iterations=arguments.iterations, margin=arguments.margin, simplex=arguments.simplex)
        split = DEFAULT_NOISE_SPLIT if arguments.noise_split is None else arguments.noise_split
        if len(split) != 3:
            raise ConfigError(
                f"--noise-split needs three shares, but got {len(split)}; give for example 0.03,0.94,0.03."
            )
        return settings.split_as(*split)
    if isinstance(spec, AnchoredSpec) and arguments.schedule is not None:
        return replace(spec, schedule=arguments.schedule)
    if isinstance(spec, TangGaussianSpec | TangNoisyMaxSpec):
        return replace(spec, whole_vocabulary=arguments.whole_vocabulary)
    return spec
