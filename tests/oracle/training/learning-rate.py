"""Compares the learning rate of each step with torch.optim.lr_scheduler: learning-rate.py LEARNING-RATE-EVAL"""
import random
import subprocess
import sys

try:
    import torch
    from torch.optim import lr_scheduler
except ImportError as missing:
    print(missing)
    sys.exit(77)

STEPS = 7  # of an epoch
draw = random.Random(5)
FALLING = [1 / (1 + e) for e in range(12)]
NOISY = [1 + draw.gauss(0, 0.1) for _ in range(60)]
BARELY = [1 - 5e-5 * e for e in range(40)]  # better, but by less than the threshold
SERIES = {'falling': FALLING, 'noisy': NOISY, 'barely': BARELY, 'flat': [1.0] * 30, 'zero': [0.0] * 20}


def evaluate(schedule, losses, rate=0.1, decay=0.3, least=0, patience=2, warmup=0, early=0):
    words = [schedule, rate, decay, least, patience, warmup, early, STEPS, *losses]
    done = subprocess.run([sys.argv[1], *(repr(w) if isinstance(w, float) else str(w) for w in words)],
                          capture_output=True, check=True, text=True)
    return done.stdout.split()


def optimizer(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def by_epoch(losses, sgd, step):
    rates = []
    for loss in losses:
        rates += [sgd.param_groups[0]['lr']] * STEPS
        step(loss)
    return rates


def compare(what, found, expected):
    assert len(found) == len(expected), (what, len(found), len(expected))
    for i, (a, b) in enumerate(zip(found, expected)):
        assert abs(float(a) - b) <= 1e-12 + 1e-12 * abs(b), f'{what}: step {i + 1}: {a}, torch has {b}'


checked = 0
for name, losses in SERIES.items():
    for decay in (0.995, 0.5):
        sgd = optimizer(0.1)
        scheduler = lr_scheduler.ExponentialLR(sgd, gamma=decay)
        expected = by_epoch(losses, sgd, lambda loss: (sgd.step(), scheduler.step()))
        compare(f'exponential, {name}', evaluate('exponential', losses, decay=decay), expected)
        checked += 1
    for patience, least in ((0, 0), (2, 0), (3, 0.02), (2, 1e-3)):
        sgd = optimizer(0.1)
        scheduler = lr_scheduler.ReduceLROnPlateau(sgd, factor=0.3, patience=patience, min_lr=least)
        expected = by_epoch(losses, sgd, scheduler.step)
        compare(f'plateau, {name}', evaluate('plateau', losses, least=least, patience=patience), expected)
        checked += 1
    for warmup, least in ((0, 0), (1, 0), (5, 0.01), (STEPS * 3, 0.01)):
        sgd, total = optimizer(0.1), STEPS * len(losses)
        cosine = lr_scheduler.CosineAnnealingLR(sgd, T_max=total - warmup, eta_min=least)
        scheduler = cosine
        if warmup:
            sgd = optimizer(0.1)
            rise = lr_scheduler.LinearLR(sgd, start_factor=1 / warmup, total_iters=max(warmup - 1, 1))
            cosine = lr_scheduler.CosineAnnealingLR(sgd, T_max=total - warmup, eta_min=least)
            scheduler = lr_scheduler.SequentialLR(sgd, [rise, cosine], milestones=[warmup])
        expected = []
        for _ in range(total):
            expected.append(sgd.param_groups[0]['lr'])
            sgd.step()
            scheduler.step()
        compare(f'cosine, {name}, warm-up {warmup}', evaluate('cosine', losses, least=least, warmup=warmup), expected)
        checked += 1


def lightning_stop(losses, patience):
    """EarlyStopping(min_delta=0, mode='min') as Lightning writes it: the epoch that is the last, or None."""
    best, wait = float('inf'), 0
    for epoch, loss in enumerate(losses):
        if loss < best:
            best, wait = loss, 0
        else:
            wait += 1
            if wait >= patience:
                return epoch
    return None


for name, losses in SERIES.items():
    for patience in (1, 3, 10):
        found = evaluate('constant', losses, early=patience)
        last = lightning_stop(losses, patience)
        assert ('stop' in found) == (last is not None), (name, patience)
        assert len(found) == (len(losses) * STEPS if last is None else (last + 1) * STEPS + 1), (name, patience)
        checked += 1
warm = evaluate('constant', FALLING, warmup=10)
compare('warm-up', warm[:12], [0.01 * s for s in range(1, 11)] + [0.1, 0.1])
print(f'{checked + 1} series agree')
