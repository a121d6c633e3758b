"""Volumes: made, trained with, predicted."""
import hashlib
import io
import zipfile

from harness import HOME, case, hotlap, main, refused


def arrays(path):
    """The bytes of each array of an .npz, header and all."""
    with zipfile.ZipFile(io.BytesIO((HOME / path).read_bytes())) as file:
        return {name.removesuffix('.npy'): file.read(name) for name in file.namelist()}


@case
def nuclei_are_made():
    run = hotlap('data', 'make', 'nuclei:size=8x16x20,count=3,radius=3', 'n.npz')
    run.passes('n.npz: 3 volumes of 8 x 16 x 20 (z, y, x)', 'radius 3', 'image, label (0 and 1) and target')
    found = arrays('n.npz')
    assert sorted(found) == ['image', 'label', 'target']
    for name, data in found.items():
        assert b"'shape': (3, 8, 16, 20)" in data[:128] and b"'<f4'" in data[:128], (name, data[:128])
    hotlap('data', 'show', 'n.npz').passes('image', 'label', 'target', '(3, 8, 16, 20)', '0 to 1')


@case
def the_same_options_give_the_same_file():
    made = {}
    for name, more in (('a', ()), ('b', ()), ('c', ('--seed', '43')), ('d', ('--n-images', '2'))):
        hotlap('data', 'make', 'nuclei:size=6x10x10', f'{name}.npz', '--quiet', *more).passes()
        made[name] = hashlib.sha256((HOME / f'{name}.npz').read_bytes()).hexdigest()
    assert made['a'] == made['b'] and len(set(made.values())) == 3, made
    # The first volumes are the same however many there are.
    few, many = arrays('d.npz')['image'][128:], arrays('a.npz')['image'][128:]
    assert len(few) == 2 * 600 * 4 and many.startswith(few)


@case
def nuclei_are_made_as_tiff():
    run = hotlap('data', 'make', 'nuclei:size=8x16x20,count=2', 'stacks/cells')
    run.passes('stacks/cells: 2 volumes', 'each with _label.tif (0 and 1) and _target.tif')
    names = sorted(p.name for p in (HOME / 'stacks/cells').iterdir())
    assert names == [f'nuclei_000{i}{end}.tif' for i in (0, 1) for end in ('', '_label', '_target')], names
    (HOME / 'plain').write_bytes(b'')
    refused(['make', 'nuclei', 'plain/x'], 'plain', command='data')


@case
def options_of_nuclei_are_checked():
    def make(spec, *parts):
        refused(['make', spec, 'x.npz'], *parts, command='data')
    make('nuclei:sise=3', "'sise' is not known; size, count, radius, fill and noise are")
    make('nuclei:size=0x4x4', 'size', 'as 16x32x32')
    make('nuclei:size=4000000x40000x4000', '2^32 voxels')
    make('nuclei:size=1000x1000x1000,count=5', '5 volumes', '2^32 voxels')
    make('nuclei:radius=nan', 'radius')
    make('nuclei:fill=2', 'fill')
    make('nuclei:noise=-1', 'noise')
    make('nuclei:' + 'x' * 200, 'too long')
    make('nucleus', 'ptychography and nuclei are')
    assert not (HOME / 'x.npz').exists()


main()
