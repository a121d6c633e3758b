"""Volumes: made, trained with, predicted."""
import hashlib
import io
import zipfile

from harness import HOME, case, file, hotlap, main, refused


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


SMALL = 'dynunet:patch=8x16x16'


@case
def predictions_of_one_name_are_two_files():
    hotlap('data', 'make', 'nuclei:size=8x16x16,count=1,radius=4', 'alike').passes()
    at = HOME / 'alike' / 'nuclei_0000.tif'
    at.with_suffix('.TIFF').write_bytes(at.read_bytes())
    run = hotlap('predict', SMALL, '--data', 'alike', '--output-dir', 'q')
    run.passes('q/nuclei_0000_prediction.tif', 'q/nuclei_0000_prediction_2.tif')
    assert len(list((HOME / 'q').iterdir())) == 2


@case
def predictions_are_timed_and_written():
    hotlap('data', 'make', 'nuclei:size=10x20x24,count=2,radius=4', 'cells').passes()
    run = hotlap('predict', SMALL, '--data', 'cells', '--batch-size', '3', '--overlap', '0.25', '--output-dir', 'p')
    run.passes('cells: 2 volumes, 2 with a file of targets; z-score, mask > 0.1', 'nuclei_0000.tif: 10 x 20 x 24',
               'p/nuclei_0001_prediction.tif', 'first batch', 'windows/s', 'mean Dice')
    assert sorted(p.name for p in (HOME / 'p').iterdir()) == [f'nuclei_000{i}_prediction.tif' for i in (0, 1)]
    for _ in range(10):  # what a busy machine takes between two parts is in none of them: then again
        document = hotlap('predict', SMALL, '--data', 'cells', '--batch-size', '3', '--overlap', '0.25', '--json').passes().document
        parts = document['parts']
        assert sum(parts.values()) <= document['total_s'], document
        if document['total_s'] < sum(parts.values()) + 0.5:
            break
    else:
        raise AssertionError(document)
    assert document['schema'] == 'hotlap.prediction/1' and document['success'] and document['reason'] is None
    assert document['windows'] == 2 * 2 * 2 * 2 and document['batches'] == 2 * 3, document
    assert all(parts[f'{name}_s'] > 0 for name in ('read', 'gather', 'forward', 'stitch', 'post', 'prepare')), parts
    first = document['first_batch']
    assert 0 < first['forward_s'] < parts['forward_s'] and first['read_s'] is None, first
    assert document['memory_mb'] > 1 and document['device_memory_mb'] is None
    assert all(p['file'] is None and 0 <= p['dice'] <= 1 and p['mse'] is None for p in document['predictions'])


@case
def a_batch_of_more_windows_than_there_are_is_cut():
    hotlap('data', 'make', 'nuclei:size=8x16x16,count=1,radius=4', 'few').passes()
    hotlap('data', 'make', 'nuclei:size=10x20x24,count=1,radius=4', 'few/more').passes()
    hotlap('data', 'make', 'nuclei:size=10x20x24,count=2,radius=4', 'few.npz').passes()
    for source, windows in (('few', 1 + 8), ('few.npz', 16), ('nuclei:size=10x20x24,count=1', 8)):
        found = hotlap('predict', SMALL, '--data', source, '--batch-size', '1000000', '--json').passes().document
        assert found['batch_size'] == 8 and found['windows'] == windows, (source, found)
    run = hotlap('predict', SMALL, '--data', 'few', '--batch-size', '1000000')
    run.passes('8 windows a call', 'not 1000000 windows a call: no volume has more than 8')
    found = hotlap('predict', SMALL, '--data', 'few', '--batch-size', '8', '--overlap', '0.5', '--json').passes().document
    assert found['batch_size'] == 8, found
    assert 'no volume has more' not in hotlap('predict', SMALL, '--data', 'few', '--batch-size', '8').passes().out


@case
def a_batch_beyond_the_memory_is_refused():
    refused(['dynunet:patch=64x256x256', '--data', 'nuclei:size=500x2000x2000,count=1', '--overlap', '0.98', '--batch-size', '1000000'],
            'predicted: the inputs of a batch of 1000000 alone need 16777216 MB', command='predict', status=1)


@case
def the_task_has_the_names_of_the_suite():
    for task in ('im2im/labelfree', 'im2im/label_free', 'labelfree'):
        document = hotlap('predict', SMALL, '--data', 'nuclei:size=8x16x16,count=1', '--experiment', task, '--json').passes().document
        assert document['task'] == 'labelfree' and -1 <= document['correlation'] <= 1 and document['dice'] is None, document
    refused([SMALL, '--task', 'im2im/gan'], '--task', 'segmentation or labelfree', command='predict')


@case
def predictions_that_cannot_be_made_say_why():
    def no(*arguments, status=2, of=()):
        refused([SMALL, *arguments], *of, command='predict', status=status)
    no('--data', 'nowhere.tif', of=['nowhere.tif'])
    no('--data', 'nowhere', of=['nowhere'])
    no('--data', 'nuclei', '--overlap', '1', of=['--overlap'])
    no('--data', 'nuclei', '--blend', 'linear', of=['--blend', 'gaussian or constant'])
    no('--data', 'nuclei', '--transform', 'sooz=1', of=["'sooz' is not known", 'zoom'])
    no('--data', 'nuclei', '--transform', 'zoom=1,zoom=2', of=["--transform: 'zoom' is given twice"])
    no('--data', 'nuclei:size=3x3x3,count=1', '--transform', 'zoom=0.25', of=['nuclei_0000', 'leaves nothing of a side of 3'])
    no('--data', 'nuclei', '--batch-size', '1,2', of=['one engine'])
    no('--data', 'nuclei', '--engine', 'onnxruntime,native', of=['one engine'])
    file('broken.tif', b'II*\0' + bytes(64))
    no('--data', 'broken.tif', of=['broken.tif'])
    file('none/readme.txt', b'text')
    no('--data', 'none', of=['none', '.tif'])
    file('t.csv', b'raw,seg\nmissing.tif,\n')
    no('--data', 't.csv', of=['missing.tif'])
    file('t.csv', b'raw;seg\nmissing.tif;\n')
    no('--data', 't.csv', of=['no column', 'separated by commas'])
    file('t.csv', b'\xef\xbb\xbfraw,seg\nmissing.tif,\n')  # as spreadsheets write it
    no('--data', 't.csv', of=['missing.tif'])
    refused(['mlp', '--data', 'nuclei'], 'does not predict volumes', command='predict')
    refused(['--data', 'nuclei'], 'one MODEL', command='predict')


@case
def a_network_learns_to_segment():
    train = 'nuclei:size=16x48x48,count=4,radius=5'
    hotlap('data', 'make', train, 'learn', '--quiet').passes()
    run = hotlap('train', SMALL, '--data', 'learn', '--transform', 'patches=8,flips=yx,rotate=on', '--loss', 'dice-ce',
                 '--epochs', '6', '--batch-size', '4', '--learning-rate', '0.003', '--checkpoint', 'net.onnx')
    run.passes('4 with a file of targets', '8 random patches a volume', 'flips along yx, quarter turns')
    # On volumes of another seed, which it has not seen.
    def dice(model):
        return hotlap('predict', model, '--data', train, '--seed', '7', '--json').passes().document['dice']
    before, after = dice(SMALL), dice('net.onnx')
    assert before < 0.5 and after > 0.7, (before, after)


@case
def volumes_are_trained_with_only_where_they_fit():
    def no(*arguments, of=()):
        run = hotlap('train', SMALL, '--loss', 'dice-ce', '--steps', '1', '--batch-size', '1', *arguments)
        assert run.status and run.status < 4, run.explain()
        for part in of:
            assert part in ' '.join((run.out + run.err).split()), (part, run.explain())
    no('--data', 'nuclei:size=7x16x16', of=['8 x 16 x 16', '7 x 16 x 16'])
    no('--data', 'nuclei:size=8x16x16', '--transform', 'zoom=0.5', of=['4 x 8 x 8', 'smaller patch'])
    no('--data', 'nuclei:size=8x16x16', '--transform', 'zom=1', of=["'zom' is not known"])
    no('--transform', 'zoom=0.5', of=['--transform is for volumes'])


@case
def the_suite_is_a_plan():
    lines = hotlap('run', 'im2im/segmentation', '--dry-run').passes().out.splitlines()
    train = [line for line in lines if line.startswith('hotlap train')]
    assert len(train) == 1, lines
    for part in ('train dynunet ', '--batch-sizes 1 ', '--loss dice-ce', '--optimizer adam', '--schedule exponential',
                 '--epochs 100', '--learning-rate 0.0001', '--weight-decay 0.0001', '--decay 0.995', 'zoom=0.25'):
        assert part in train[0], (part, train)
    names = ['trainer.max_epochs=5', 'data.batch_size=8', 'data.path=cells', 'data._aux.patch_shape=[8, 16, 16]',
             'model.optimizer.generator.lr=3e-4', 'trainer.precision=bf16-mixed', '+data.num_workers=2', 'seed=7',
             'model.lr_scheduler.generator.gamma=0.9', 'model.inference_args.sw_batch_size=1,3']
    for experiment in ('im2im/labelfree', 'im2im/label_free'):
        out = hotlap('run', experiment, *names, '--dry-run').passes().out
        for part in ('hotlap train dynunet:patch=8x16x16', '--batch-sizes 8', '--test-data cells', '--loss mse', '--epochs 5',
                     '--learning-rate 0.0003', '--dtype bfloat16', '--loader-threads 2', '--seed 7', '--decay 0.9'):
            assert part in out, (part, out)
        assert out.count('hotlap sweep') == 2 and '--batch-sizes 3' in out, out
    refused(['im2im/segmentation', 'data.cache_dir=x', '--dry-run'], "'data.cache_dir=x' has no counterpart",
            'data.batch_size', command='run')
    refused(['im2im/segmentation', 'trainer.precision=8', '--dry-run'], 'trainer.precision=8', command='run')
    refused(['im2im/segmentation', 'data._aux.patch_shape=[3]', '--dry-run'], 'patch', command='run')
    refused(['im2im/gan'], "no plan 'im2im/gan'", command='run')


@case
def the_suite_runs():
    run = hotlap('run', 'im2im/segmentation', 'trainer.max_epochs=2', 'data.path=nuclei:size=32x64x64,count=2,radius=12',
                 'data._aux.patch_shape=[8,16,16]', 'training.transform=zoom=0.5', 'data.batch_size=2',
                 'inference.batch-sizes=2', 'max-time=1', '--store', 'none', '--json')
    rows = run.passes().rows
    assert [row['workload'] for row in rows] == ['training', 'inference'], run.explain()
    assert all(row['outcome'] == 'PASSED' for row in rows), run.explain()


main()
