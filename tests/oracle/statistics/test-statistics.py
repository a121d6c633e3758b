"""Compares src/statistics with NumPy and SciPy to 1e-9: test-statistics.py STATISTICS-EVAL"""
import math
import subprocess
import sys

try:
    import numpy as np
    from scipy import special, stats
except ImportError as missing:
    print(missing)
    sys.exit(77)

TOLERANCE = 1e-9
rng = np.random.default_rng(1)
cases = []  # (line, expected numbers, tolerance)


def case(name, numbers, expected, tolerance=TOLERANCE):
    line = ' '.join([name] + [repr(float(x)) for x in numbers])
    cases.append((line, [float(x) for x in np.atleast_1d(expected)], tolerance))


def distributions():
    for _ in range(300):
        a, b = 10 ** rng.uniform(-1, 5, 2)
        # Around the mean, where the function moves, and anywhere.
        mean, sd = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
        for x in (np.clip(mean + rng.normal() * 2 * sd, 0, 1), rng.uniform()):
            case('beta', [x, a, b], special.betainc(a, b, x))
    for _ in range(300):
        n = int(10 ** rng.uniform(0, 6))
        p = rng.choice([0.5, 0.9, 0.95, 0.99, 0.999, rng.uniform()])
        k = int(np.clip(rng.normal(n * p, 2 * math.sqrt(n * p * (1 - p)) + 1), 0, n))
        case('cdf', [k, n, p], stats.binom.cdf(k, n, p))
    for dof in (1, 2, 3.5, 5, 12, 29, 100, 1e4, 1e13):
        for p in (1e-12, 0.001, 0.025, 0.3, 0.5, 0.9, 0.95, 0.975, 0.9995):
            case('student', [p, dof], stats.t.ppf(p, dof))


def ranks():
    for n in [5, 6, 7, 10, 20, 30, 35, 36, 71, 72, 100, 367, 368, 1000, 3687, 3688, 123457]:
        for percent in (50, 90, 95, 99, 99.9):
            p = percent / 100
            low = int(stats.binom.ppf(0.025, n, p))
            low += stats.binom.cdf(low, n, p) <= 0.025
            high = int(stats.binom.isf(0.025, n, p)) + 1
            case('ranks', [n, percent], [low, high] if low >= 1 and high <= n else [])


def early_stopping():
    """The definition, with SciPy's incomplete beta function; LoadGen's table is in the unit test."""
    def passing(x, c, t):
        h = 1
        while special.betainc(h, t + 1, x) > 1 - c:
            h *= 2
        low = h // 2
        while h - low > 1:
            middle = (h + low) // 2
            low, h = (low, middle) if special.betainc(middle, t + 1, x) <= 1 - c else (middle, h)
        return h
    for p, d, c in ((0.9, 0, 0.99), (0.97, 0.02, 0.95), (0.999, 0, 0.99), (0.5, 0.1, 0.6)):
        for t in (0, 1, 3, 17, 250):
            h = passing(p - d, c, t)
            case('passing', [p, d, c, t], h)
            if t:
                case('allowed', [p, d, c, h + t], t)
                case('allowed', [p, d, c, h + t - 1], t - 1)


def intervals():
    for percent in (50, 90, 95, 99, 99.9, 25, 1):
        p = max(percent, 100 - percent) / 100
        n = 1
        while 1 - stats.binom.cdf(n - 1, n, p) > 0.025:  # the largest of n is above
            n += 1
        case('least', [percent], n)
    for n, rho in ((100, 0), (100, 0.5), (777, 0.9), (5, 0.99), (40, -0.3)):
        worth = n if rho <= 0 else max(1, int(n * (1 - rho) / (1 + rho)))
        case('effective', [n, rho], worth)
        for percent in (50, 90, 99):
            values = np.sort(rng.lognormal(size=n))
            p, expected = percent / 100, []
            low = int(stats.binom.ppf(0.025, worth, p))
            low += stats.binom.cdf(low, worth, p) <= 0.025
            high = int(stats.binom.isf(0.025, worth, p)) + 1
            if low >= 1 and high <= worth:
                expected = [values[math.floor((low - 1) * (n / worth))],
                            values[min(n, math.ceil(high * (n / worth))) - 1]]
            case('interval', [percent, rho, *values], expected)


def percentiles():
    for n in (1, 2, 3, 10, 100, 777):
        values = rng.lognormal(size=n)
        for percent in (0, 1, 25, 50, 90, 95, 99, 99.9, 100):
            ordered = np.sort(values)
            nearest = ordered[max(0, math.ceil(round(n * percent / 100, 9)) - 1)]
            loadgen = ordered[min(n - 1, math.floor(round(n * percent / 100, 9)))]
            for rule, expected in (('linear', np.percentile(values, percent)),
                                   ('nearest', nearest), ('loadgen', loadgen)):
                case(f'percentile {rule}', [percent, *values], expected)


def mser5(values):
    means = values[:len(values) // 5 * 5].reshape(-1, 5).mean(1)
    errors = [means[d:].var() / (len(means) - d) for d in range(len(means) // 2 + 1)]
    return 5 * int(np.argmin(errors))


def series():
    for n in (2, 5, 31, 150, 400):
        for values in (rng.normal(size=n), 2e9 + rng.normal(size=n), np.cumsum(rng.normal(size=n))):
            case('describe', values, [values.mean(), values.std(), values.min(), values.max()])
            d = values - values.mean()
            case('autocorrelation', values, (d[1:] * d[:-1]).sum() / (d * d).sum(), 1e-6)
            case('slope', values, stats.linregress(np.arange(n), values).slope, 1e-6)
            if n >= 30:
                edges = [i * n // 30 for i in range(31)]
                medians = [np.median(values[a:b]) for a, b in zip(edges, edges[1:])]
                case('medians', [30, *values], medians)
        decaying = 1 + 3 * np.exp(-np.arange(n) / 12) + 0.05 * rng.normal(size=n)
        case('mser5', decaying, mser5(decaying) if n >= 20 else 0)


def weighted(x, y, w):
    a1, a0 = np.polyfit(x, y, 1, w=np.sqrt(w))
    residual = (w * (y - a0 - a1 * x) ** 2).sum()
    return a0, a1, residual, 1 - residual / (w * (y - np.average(y, weights=w)) ** 2).sum()


def bic(residual, n, k):
    return n * math.log(max(residual / n, 1e-8)) + k * math.log(n)


def lines():
    for n in (3, 6, 8, 12, 40):
        for bend in (1, 2.5):
            x = np.cumsum(rng.integers(1, 9, n)).astype(float)
            y = 3 + 2 * np.minimum(x, x[n // 2]) + 2 * bend * np.maximum(0, x - x[n // 2])
            y *= 1 + 0.01 * rng.normal(size=n)
            w = 1 / y ** 2
            a0, a1, residual, r2 = weighted(x, y, w)
            case('line', [*x, *y, *w], [a0, a1, r2])
            if n < 6:
                case('two', [*x, *y, *w], [])
                continue
            pieces = [(weighted(x[:k], y[:k], w[:k])[2] + weighted(x[k:], y[k:], w[k:])[2], k)
                      for k in range(3, n - 2)]
            best, k = min(pieces)
            case('two', [*x, *y, *w], [k, bic(residual, n, 2) - bic(best, n, 5)], 1e-6)


def signed_ranks(n, w):
    """Ranks 1..n with signs of which the positive ones add up to w."""
    signs, left = -np.ones(n), w
    for rank in range(n, 0, -1):
        if left >= rank:
            signs[rank - 1], left = 1, left - rank
    return signs * np.arange(1.0, n + 1)


def paired():
    for n in (6, 9, 17, 30, 50):
        d = rng.normal(0.01, 0.03, n)
        walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
        for w in (0, n, n * (n + 1) // 4, n * (n + 1) // 2):
            p = stats.wilcoxon(signed_ranks(n, w), alternative='less', method='exact').pvalue
            case('signedrank', [w, n], p)
        # The interval holds what a two-sided test at 5 % does not refuse.
        def p_value(shift):
            return stats.wilcoxon(d - shift, method='exact').pvalue
        middles = (walsh[1:] + walsh[:-1]) / 2
        kept = [m for m in middles if p_value(m) > 0.05]
        low, high = walsh[walsh < kept[0]].max(), walsh[walsh > kept[-1]].min()
        case('paired', d, [np.median(walsh), low, high, d.std(ddof=1)])
    for n in (51, 200):
        d = rng.normal(0, 1, n)
        walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
        c = math.floor(len(walsh) / 2 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        case('paired', d, [np.median(walsh), walsh[c - 1], walsh[-c], d.std(ddof=1)])


def paired_levels():
    for n in (5, 6, 12, 25, 50):
        for level in (0.05, 0.01, 0.1, 0.0016):
            below = -1
            while stats.wilcoxon(signed_ranks(n, below + 1), alternative='less',
                                 method='exact').pvalue <= level / 2:
                below += 1
            case('cut', [n, level], below)
            z = stats.norm.ppf(1 - level / 2) + 0.84
            case('detectable', [0.03, n, level], z * 0.03 / math.sqrt(n) / 0.955)


def unpaired_expected(a, b, level):
    """The interval holds what the exact test does not refuse; beyond 20 it is C of the normal."""
    n, m = len(a), len(b)
    differences = np.sort((a[:, None] - b[None, :]).ravel())
    exact = max(n, m) < 20 and len(set(a) | set(b)) == n + m
    method = 'exact' if exact else 'asymptotic'
    test = stats.mannwhitneyu(a, b, method=method)
    if exact:
        steps = np.concatenate([[differences[0] - 1], (differences[1:] + differences[:-1]) / 2,
                                [differences[-1] + 1]])
        kept = [i for i, s in enumerate(steps)
                if stats.mannwhitneyu(a - s, b, method='exact').pvalue > level]
        low = differences[kept[0] - 1] if kept[0] else math.nan
        high = differences[kept[-1]] if kept[0] else math.nan
    else:
        c = math.floor(n * m / 2
                       - stats.norm.ppf(1 - level / 2) * math.sqrt(n * m * (n + m + 1) / 12))
        low, high = (differences[c - 1], differences[-c]) if c > 0 else (math.nan, math.nan)
    pooled = math.sqrt((((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
                       / (n + m - 2)) if n + m > 2 else math.nan
    detectable = ((stats.norm.ppf(1 - level / 2) + 0.84) * pooled * math.sqrt(1 / n + 1 / m)
                  / 0.955)
    delta = np.sign(a[:, None] - b[None, :]).mean()
    return [np.median(differences), low, high, test.pvalue, delta, detectable]


def unpaired():
    for n, m in ((1, 1), (2, 3), (4, 4), (3, 7), (6, 5), (12, 9), (19, 19), (19, 20), (5, 40),
                 (50, 61), (200, 35)):
        for level in (0.05, 0.01, 0.2):
            a, b = rng.normal(0.03, 0.1, n), rng.normal(0, 0.1, m)
            case('unpaired', [n, level, *a, *b], unpaired_expected(a, b, level))
            a, b = np.round(a, 1), np.round(b, 1)  # ties
            case('unpaired', [n, level, *a, *b], unpaired_expected(a, b, level))
    case('unpaired', [3, 0.05, 1, 1, 1, 1, 1, 1],
         unpaired_expected(np.ones(3), np.ones(3), 0.05))
    for n, m in ((1, 1), (3, 5), (7, 4), (19, 19), (19, 2)):
        # U of the first sample is the number of pairs it wins.
        for u in range(0, n * m + 1, max(1, n * m // 17)):
            wins = [min(m, max(0, u - i * m)) for i in range(n)]
            a = [w - 0.5 + 0.01 * i for i, w in enumerate(wins)]
            p = stats.mannwhitneyu(a, np.arange(m), alternative='less', method='exact').pvalue
            case('mannwhitney', [u, n, m], p)
    for p in (1e-300, 1e-9, 0.001, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9999):
        case('normal', [p], stats.norm.ppf(p))


def adjusted():
    for n in (1, 2, 3, 10, 57):
        for p in (rng.uniform(size=n), np.round(rng.uniform(size=n) ** 3, 1), np.zeros(n),
                  np.ones(n)):
            case('benjaminihochberg', p, stats.false_discovery_control(p, method='bh'))


def step_objective(values, starts):
    """The objective of one fit, with rho found by trying every breakpoint and both ends."""
    n, edges = len(values), [*starts, len(values)]
    levels = [np.median(values[a:b]) for a, b in zip(edges, edges[1:])]
    errors = values - np.repeat(levels, np.diff(edges))
    floor = max(0.001, 0.1 * np.abs(np.diff(levels)).min()) if len(levels) > 2 else 0.001
    with np.errstate(all='ignore'):
        ratios = errors[1:] / errors[:-1]
    rhos = [-1, 1, *(r for r in ratios if abs(r) < 1)]
    least = min(abs(errors[0]) + np.abs(errors[1:] - r * errors[:-1]).sum() for r in rhos)
    return (4 * math.log(n) / n * len(levels) + math.log(floor + least), np.abs(errors).sum(),
            levels)


def segmentations(n):
    """Every way to cut n values into levels of at least two."""
    def cut(first):
        if n - first >= 2 or first == 0:
            yield [first]
        for end in range(first + 2, n - 1):
            for rest in cut(end):
                yield [first, *rest]
    return cut(0)


def steps():
    for n in (1, 2, 3, 4, 5, 7, 9, 12, 14):
        for trial in range(12):
            values = 0.02 * rng.normal(size=n)
            if trial % 3:
                values[n // 2:] += rng.choice([0.05, 0.5])
            if trial % 4 == 3:
                values[n // 3:] -= 0.4
            if trial == 5:
                values = np.round(values, 1)
            best = {}  # of each number of levels the fit of least absolute deviation
            for starts in segmentations(n):
                objective, cost, levels = step_objective(values, starts)
                known = best.get(len(starts))
                if known is None or cost < known[0] - 1e-12:
                    best[len(starts)] = cost, objective, starts, levels, True
                elif cost < known[0] + 1e-12:
                    best[len(starts)] = *known[:4], False  # not the only one: any will do
            if not all(b[4] for b in best.values()):
                continue
            _, objective, starts, levels, _ = min(best.values(), key=lambda b: b[1])
            # Of rho the objective tells, as several may give the least.
            case('steps', values, [objective, 0, *starts, *levels],
                 [TOLERANCE, 2, *[TOLERANCE] * 2 * len(starts)])


def bootstrapped(values, block, count):
    n = len(values)
    blocks = -(-n // block)
    firsts = rng.integers(0, n - block + 1, (count, blocks))
    places = (firsts[:, :, None] + np.arange(block)).reshape(count, -1)[:, :n]
    return values[places]


def bootstrap():
    """Random draws: compared with numpy's as far as 20,000 resamples of each tell."""
    for n, percent, block in ((1500, 95, 1), (1500, 95, 30), (1900, 90, 5)):
        noise = rng.normal(size=n)
        for i in range(1, n):  # autocorrelated, so that the blocks matter
            noise[i] = 0.8 * noise[i - 1] + 0.6 * noise[i]
        a = np.exp(0.1 * noise)
        b = np.exp(0.1 * rng.normal(size=n - 20))
        count = 20000
        ratios = (np.percentile(bootstrapped(a, block, count), percent, axis=1)
                  / np.percentile(bootstrapped(b, block, count), percent, axis=1))
        low, high = np.percentile(ratios, [2.5, 97.5])
        case('bootstrap', [n, percent, count, block, *a, *b],
             [np.percentile(a, percent) / np.percentile(b, percent), low, high],
             [1e-9, 0.0008, 0.0008])
    a = rng.lognormal(size=71)
    case('bootstrap', [71, 95, 0, 0, *a, *a], [1, math.nan, math.nan])  # 72 are needed


def main():
    for make in (distributions, early_stopping, ranks, intervals, percentiles, series, lines, paired,
                 paired_levels, unpaired, adjusted, steps, bootstrap):
        make()
    run = subprocess.run([sys.argv[1]], input='\n'.join(c[0] for c in cases) + '\n', text=True,
                         capture_output=True, check=True)
    answers = run.stdout.split('\n')[:-1]
    if len(answers) != len(cases):
        sys.exit(f'{len(answers)} answers to {len(cases)} questions')
    wrong = 0
    for (line, expected, tolerance), answer in zip(cases, answers):
        got = [float(x) for x in answer.split()]
        if len(got) != len(expected) or not np.isclose(got, expected, tolerance, tolerance,
                                                       equal_nan=True).all():
            wrong += 1
            print(f'{line[:100]}: {got[:4]}, expected {expected[:4]}')
    print(f'{len(cases) - wrong} of {len(cases)} agree')
    sys.exit(wrong != 0)


main()
