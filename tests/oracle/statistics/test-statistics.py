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


    for dof in (1, 2, 3.5, 5, 12, 29, 100, 1e4):
        for p in (0.001, 0.025, 0.3, 0.5, 0.9, 0.95, 0.975, 0.9995):
            case('student', [p, dof], stats.t.ppf(p, dof))


def ranks():
    for n in [5, 6, 7, 10, 20, 30, 35, 36, 71, 72, 100, 367, 368, 1000, 3687, 3688, 123457]:
        for percent in (50, 90, 95, 99, 99.9):
            p = percent / 100
            low = int(stats.binom.ppf(0.025, n, p))
            low += stats.binom.cdf(low, n, p) <= 0.025
            high = int(stats.binom.isf(0.025, n, p)) + 1
            case('ranks', [n, percent], [low, high] if low >= 1 and high <= n else [])


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


def paired():
    for n in (6, 9, 17, 30, 50):
        d = rng.normal(0.01, 0.03, n)
        walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
        for w in (0, n, n * (n + 1) // 4, n * (n + 1) // 2):
            ranks = np.arange(1.0, n + 1)
            signs, left = -np.ones(n), w  # signed ranks whose positive ones add up to w
            for i in range(n - 1, -1, -1):
                if left >= ranks[i]:
                    signs[i], left = 1, left - ranks[i]
            p = stats.wilcoxon(signs * ranks, alternative='less', method='exact').pvalue
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


def main():
    for make in (distributions, ranks, percentiles, series, lines, paired):
        make()
    run = subprocess.run([sys.argv[1]], input='\n'.join(c[0] for c in cases) + '\n', text=True,
                         capture_output=True, check=True)
    answers = run.stdout.split('\n')[:-1]
    if len(answers) != len(cases):
        sys.exit(f'{len(answers)} answers to {len(cases)} questions')
    wrong = 0
    for (line, expected, tolerance), answer in zip(cases, answers):
        got = [float(x) for x in answer.split()]
        if len(got) != len(expected) or not np.allclose(got, expected, tolerance, tolerance,
                                                        equal_nan=True):
            wrong += 1
            print(f'{line[:100]}: {got[:4]}, expected {expected[:4]}')
    print(f'{len(cases) - wrong} of {len(cases)} agree')
    sys.exit(wrong != 0)


main()
