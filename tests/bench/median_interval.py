"""The interval of a median that benches print."""
import math


def interval(values):
    """The order statistics between which the median lies, 95 times of 100 with six or more values."""
    values, n = sorted(values), len(values)
    below = 0  # values left out at each end
    while below + 1 < n / 2 and 2 * sum(math.comb(n, i) for i in range(below + 1)) / 2**n <= 0.05:
        below += 1
    low = max(0, below - 1)
    return values[low], values[n - 1 - low]
