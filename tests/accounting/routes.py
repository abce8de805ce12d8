"""Independent routes to the numbers under test: closed forms, quadrature, and a composition by plain FFT."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, optimize, special, stats

TABLE_ROWS = {
    # name: (sigma_0, sigma_1, sigma_2, iterations, M*N, pool, tokens, 1/delta)
    "agnews": (10, 0.58, 3, 1, 20, 30000, 100, 120000),
    "trec": (10, 0.89, 5, 1, 40, 835, 15, 5452),
    "mit-g": (10, 1.17, 6, 1, 40, 2953, 80, 2953),
    "mit-d": (17.5, 2.57, 6, 1, 40, 1561, 80, 1561),
}


def gaussian_delta(mu, epsilon):
    """Balle and Wang 2018, Theorem 8, for any real epsilon."""
    return special.ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))


def gaussian_epsilon(mu, delta):
    return optimize.brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0, 10_000, xtol=1e-12)


def sampled_delta(mu, rate, epsilon):
    """Hockey-stick divergence of (1 - rate) N(0, 1) + rate N(mu, 1) against N(0, 1), by quadrature of its density."""
    a = 1 + math.expm1(epsilon) / rate
    z0 = math.log(a) / mu + mu / 2

    def density(t):
        return math.exp(-((z0 + t - mu) ** 2) / 2) * -math.expm1(-mu * t) / math.sqrt(2 * math.pi)

    value = sum(
        integrate.quad(density, low, high, epsabs=0, epsrel=1e-12)[0]
        for low, high in ((0, 0.5), (0.5, 2), (2, 8), (8, 40 + mu))
    )
    return rate * value


def sampled_epsilon(mu, rate, delta):
    return optimize.brentq(lambda epsilon: sampled_delta(mu, rate, epsilon) - delta, 0, 40, xtol=1e-10)


def fft_epsilon_bracket(mu, rate, tokens, delta, step, room=4):
    """Epsilon from below and above: the symmetric pair cut into cells, losses rounded down or up, powers by FFT.

    room: length of the transform over the largest loss of one token; composed losses beyond half of it would wrap.
    """
    z = np.linspace(mu / 2, mu + 8, 200_001)
    loss = np.log1p(rate * np.expm1(mu * z - mu * mu / 2))
    base, shifted = np.diff(stats.norm.cdf(z)), np.diff(stats.norm.cdf(z - mu))
    plus, minus = (1 - rate) * base + rate * shifted, base
    results = []
    for lift in (math.floor, math.ceil):
        rounding = np.floor if lift is math.floor else np.ceil
        positive = rounding((loss[:-1] if lift is math.floor else loss[1:]) / step).astype(int)
        negative = rounding(-(loss[1:] if lift is math.floor else loss[:-1]) / step).astype(int)
        half = int(loss[-1] / step) + 2
        size = 2 ** math.ceil(math.log2(room * half))
        masses = np.zeros(size)
        np.add.at(masses, positive % size, plus)
        np.add.at(masses, negative % size, minus)
        masses[0] += 1 - plus.sum() - minus.sum()
        composed = np.fft.irfft(np.fft.rfft(masses) ** tokens, size)
        losses = np.fft.fftfreq(size, 1 / size) * step

        def excess(epsilon, composed=composed, losses=losses):
            kept = losses > epsilon
            return composed[kept] @ -np.expm1(epsilon - losses[kept]) - delta

        results.append(optimize.brentq(excess, 0, losses.max()))
    return tuple(results)


def sampled_losses(mu, rate, tokens, count, rng):
    """`count` draws of the composed loss of the symmetric pair, by inverse transform of its four parts."""
    total = np.zeros(count)
    below = stats.norm.cdf(-mu / 2)
    weights = np.array([(1 - rate) * below, rate * (1 - below), below])
    for _ in range(tokens):
        u, v = rng.random(count), rng.random(count)
        part = np.searchsorted(np.cumsum(weights), u)
        upper_tail = np.where(part == 1, 1 - below, below) * v
        z = -special.ndtri(upper_tail) + np.where(part == 1, mu, 0)
        loss = np.log1p(rate * np.expm1(mu * np.maximum(z, mu / 2) - mu * mu / 2))
        total += np.select([part == 0, part == 1, part == 2], [loss, loss, -loss], 0.0)
    return total
