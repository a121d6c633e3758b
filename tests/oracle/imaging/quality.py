"""src/imaging's measures of likeness against NumPy and SciPy, and published definitions."""

import numpy as np
from imaging import check, close, finish, refused, run
from scipy import ndimage, stats


def measures(a, b, threshold=0.5, value_range=1.0, crop=5):
    a, b = np.ascontiguousarray(a, "f4"), np.ascontiguousarray(b, "f4")
    status, out, err = run("quality", 1, *a.shape, threshold, value_range, crop,
                           data=a.tobytes() + b.tobytes())  # fmt: skip
    check(status == 0, f"quality {a.shape}: {err}")
    names = ("dice", "smooth_dice", "soft_dice", "mse", "correlation", "psnr", "ssim")
    found = [float(word) for word in out.split() or [np.nan] * 11]
    # All in one pass: the same.
    for name, one, all_at_once in zip(names[3:], found[3:7], found[7:]):
        same = one == all_at_once or np.isnan(one) and np.isnan(all_at_once)
        check(same or abs(one - all_at_once) <= 1e-11 * abs(one), f"{name} {a.shape} in one pass: {all_at_once}, alone {one}")
    return dict(zip(names, found))


def ssim(a, b, value_range, crop):
    """Wang et al. as skimage computes it with gaussian_weights=True."""
    blur = lambda x: ndimage.gaussian_filter(x, 1.5, truncate=3.5, mode="reflect")  # noqa: E731
    a, b = a.astype("f8"), b.astype("f8")
    ma, mb = blur(a), blur(b)
    va, vb, ab = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
    c1, c2 = (0.01 * value_range) ** 2, (0.03 * value_range) ** 2
    s = (2 * ma * mb + c1) * (2 * ab + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    return s[crop : s.shape[0] - crop, crop : s.shape[1] - crop].mean()


rng = np.random.default_rng(5)
for height, width, value_range in ((48, 40, 1.0), (11, 11, 1.0), (31, 97, 255.0), (128, 128, 1.0)):
    a = rng.random((height, width)).astype("f4") * np.float32(value_range)
    b = (a + value_range * 0.2 * rng.normal(size=a.shape)).astype("f4")
    label = f"{height}x{width}"
    m = measures(a, b, 0.5 * value_range, value_range)
    wide_a, wide_b = a.astype("f8"), b.astype("f8")
    mse = ((wide_a - wide_b) ** 2).mean()
    in_a, in_b = a > 0.5 * value_range, b > 0.5 * value_range
    top, total = 2 * (in_a & in_b).sum(), in_a.sum() + in_b.sum()
    close(f"{label} mse", m["mse"], mse, 1e-12)
    close(f"{label} psnr", m["psnr"], 20 * np.log10(value_range / np.sqrt(mse)), 1e-12)
    close(f"{label} correlation", m["correlation"], stats.pearsonr(wide_a.ravel(), wide_b.ravel())[0], 1e-12)
    close(f"{label} dice", m["dice"], top / total, 1e-15)
    close(f"{label} smooth dice", m["smooth_dice"], (top + 1e-5) / (total + 1e-5), 1e-15)
    soft = (2 * (wide_a * wide_b).sum() + 1e-5) / (wide_a.sum() + wide_b.sum() + 1e-5)
    close(f"{label} soft dice", m["soft_dice"], soft, 1e-12)
    for crop in (5, 3, 0):
        found = measures(a, b, value_range=value_range, crop=crop)["ssim"]
        close(f"{label} ssim, crop {crop}", found, ssim(a, b, value_range, crop), 1e-9)

# An object in the dark: as if all were filtered. At the borders, too, in one picture only, and nothing at all.
for place in ((slice(20, 33), slice(14, 40)), (slice(0, 3), slice(60, 70)), (slice(35, 36), slice(0, 1))):
    for both in (True, False):
        a, b = np.zeros((2, 50, 70), "f4")
        a[place] = rng.random(a[place].shape)
        b[place] = rng.random(a[place].shape) if both else 0
        close(f"object {place} ssim", measures(a, b)["ssim"], ssim(a, b, 1, 5), 1e-9)
        if both and a[place].size > 1:
            close(f"object {place} correlation", measures(a, b)["correlation"], stats.pearsonr(a.ravel().astype("f8"), b.ravel().astype("f8"))[0], 1e-9)
try:
    from skimage import metrics
except ImportError:
    print("skimage is absent: its formulas were written out above")
else:
    a, b = rng.random((2, 64, 48)).astype("f4")
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    m = measures(a, b)
    wide = a.astype("f8"), b.astype("f8")
    close("ssim of skimage", m["ssim"], metrics.structural_similarity(*wide, **options), 1e-9)
    close("psnr of skimage", m["psnr"], metrics.peak_signal_noise_ratio(*wide, data_range=1.0), 1e-9)
    close("mse of skimage", m["mse"], metrics.mean_squared_error(*wide), 1e-9)

# Pictures smaller than the Gaussian are mirrored more than once.
tiny_a, tiny_b = rng.random((2, 3)).astype("f4"), rng.random((2, 3)).astype("f4")
close("2x3 ssim", measures(tiny_a, tiny_b, crop=0)["ssim"], ssim(tiny_a, tiny_b, 1, 0), 1e-9)

same = rng.random((20, 20)).astype("f4")
m = measures(same, same)
check(m["ssim"] == 1 or abs(m["ssim"] - 1) < 1e-12, f"ssim of equals is {m['ssim']}")
check(m["psnr"] == np.inf and m["mse"] == 0 and m["dice"] == 1, f"equals: {m}")
close("correlation of equals", m["correlation"], 1, 1e-12)
m = measures(np.zeros((12, 12)), np.zeros((12, 12)))
check(np.isnan(m["dice"]) and m["smooth_dice"] == 1, f"dice of nothing: {m}")
check(np.isnan(m["correlation"]), f"correlation of constants: {m}")
m = measures(np.full((12, 12), np.nan), np.ones((12, 12)))
check(np.isnan(m["mse"]) and np.isnan(m["ssim"]) and m["dice"] == 0, f"NaN: {m}")

pair = np.zeros((2, 10, 10), "f4").tobytes()
refused("quality", (1, 10, 10), 0.5, 1.0, 5, data=pair, words=["SSIM leaves out 5", "10 x 10"])
refused("quality", (1, 10, 10), 0.5, 0.0, 0, data=pair, words=["range"])
finish()
