"""Folders of pictures, and volumes in TIFF, as inputs of a network."""
import json
import os
import struct

from harness import HOME, case, hotlap, main, refused
from onnx_bytes import model, node, port, tensor
from pictures_kit import png

QUICK = ['--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2', '--batch-sizes', '2',
         '--no-check', '--store', 'none']


def folder():
    for i in range(3):
        png(f'set/cat/{i}.png', 40 + i, 30, (255, 0, 10 * i))
        png(f'set/dog/deep/{i}.png', 30, 50, (0, 255, 0))
    cut = png('set/dog/cut.png', 30, 30, (1, 2, 3))
    cut.write_bytes(cut.read_bytes()[:60])
    (HOME / 'set/dog/notes.txt').write_text('hello')
    if not (HOME / 'set/dog/loop').exists():
        os.symlink(HOME / 'set', HOME / 'set/dog/loop')
    return HOME / 'set'


@case
def a_folder_is_shown():
    path = folder()
    said = ('6 pictures of 2 classes; skipped 3: dog/loop (leads back to a folder above it), '
            'dog/cut.png (cut short or broken), dog/notes.txt (no JPEG or PNG)')
    run = hotlap('data', 'show', path).passes(said, 'label 0     cat', '3 pictures', 'hotlap sweep resnet50')
    assert 'label 2' not in run.out, run.out
    document = json.loads(hotlap('data', 'show', path, '--json').passes().out)
    assert document['classes'] == [{'name': 'cat', 'pictures': 3}, {'name': 'dog', 'pictures': 3}], document
    assert (document['skipped_other'], document['skipped_broken']) == (1, 2), document


@case
def a_folder_is_measured_with():
    rows = hotlap('sweep', 'resnet50', *QUICK, '--test-data', folder(), '--json').passes().rows
    assert '6 pictures of 2 classes' in rows[0]['data'] and 'contents' in rows[0]['data'], rows[0]['data']
    some = hotlap('sweep', 'resnet50', *QUICK, '--data', folder(), '--n-images', '2', '--json').passes().rows
    assert '2 of them, evenly spread' in some[0]['data'], some[0]['data']


class Bits:
    """Of a JPEG's scan: a 1 for each missing bit at its end, a zero byte behind each 0xff."""

    def __init__(self):
        self.text = ''

    def put(self, value, count):
        self.text += format(value, f'0{count}b') if count else ''

    def bytes(self):
        text = self.text + '1' * (-len(self.text) % 8)
        return b''.join(bytes([int(text[i:i + 8], 2)]) for i in range(0, len(text), 8)).replace(b'\xff', b'\xff\0')


def jpeg(path, levels):
    """A grey JPEG of blocks of 8 x 8 pixels of one level each, by rows."""
    def segment(marker, data):
        return bytes([0xff, marker]) + struct.pack('>H', len(data) + 2) + data
    bits, last = Bits(), 0
    for level in (level for row in levels for level in row):
        difference, last = level - last, level  # quantised by 8, the mean of a block is its DC
        size = abs(difference).bit_length()
        bits.put(size, 4)
        bits.put(difference if difference > 0 else difference + (1 << size) - 1, size)
        bits.put(0, 1)  # nothing but the mean
    height, width = 8 * len(levels), 8 * len(levels[0])
    data = (b'\xff\xd8' + segment(0xdb, b'\0' + bytes([8] * 64))
            + segment(0xc0, struct.pack('>BHHB', 8, height, width, 1) + b'\1\x11\0')
            + segment(0xc4, b'\0' + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12)))
            + segment(0xc4, b'\x10' + bytes([1] + [0] * 15) + b'\0')
            + segment(0xda, b'\1\1\0\0\x3f\0') + bits.bytes() + b'\xff\xd9')
    path = HOME / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@case
def jpeg_is_decoded_at_a_smaller_scale_on_request():
    for i in range(3):
        jpeg(f'jpegs/{i}.jpg', [[(x * 7 + y * 5 + i) % 100 - 50 for x in range(130)] for y in range(128)])
    exact = hotlap('sweep', 'resnet50', *QUICK, '--test-data', HOME / 'jpegs', '--json').passes().rows[0]
    row = hotlap('sweep', 'resnet50', *QUICK, '--test-data', HOME / 'jpegs', '--decode', 'scaled', '--json').passes().rows[0]
    assert exact['decode_psnr_db'] is None and 'smaller scale' not in exact['data'], exact['data']
    assert 10 < row['decode_psnr_db'] < 60, row['decode_psnr_db']
    assert f'{row["decode_psnr_db"]:.1f} dB from exact over 3 pictures' in row['data'], row['data']
    assert '--decode scaled' in row['reproduce'] and '--decode' not in exact['reproduce'], row['reproduce']
    assert row['data'].split('contents')[1] != exact['data'].split('contents')[1], 'other pixels'
    row = hotlap('sweep', 'resnet50', *QUICK, '--test-data', folder(), '--decode', 'scaled', '--json').passes().rows[0]
    assert row['decode_psnr_db'] is None and 'show no difference' in row['data'], row['data']
    refused(['resnet50', *QUICK, '--test-data', HOME / 'jpegs', '--decode', 'fast'], '--decode', 'exact', 'scaled')


@case
def a_row_says_what_loading_costs():
    """The null engine takes no time, so that all of it is waiting."""
    for i in range(3):
        png(f'loads/{i}.png', 300, 300, (9 * i, 9, 9))
    quick = [a for a in QUICK if a not in ('--simulated-clock', '1000000+100000')]
    for threads in ('0', '2'):
        run = hotlap('sweep', 'resnet50', *quick, '--test-data', HOME / 'loads', '--loader-threads', threads, '--json').passes()
        row = run.rows[0]
        assert row['loader_threads'] == int(threads) and row['data_throughput_ips'] > 0, row
        assert 50 < row['data_wait_percent'] <= 100 and row['data_verdict'].startswith('the bottleneck: '), row['data_verdict']
        assert 0 < row['fed_throughput_ips'] < row['throughput_ips'] and row['data_work_ms'] > 0, row
        assert ('--loader-threads' in row['reproduce']), row['reproduce']
    # A batch larger than the folder takes its pictures more than once, as the row's steps do.
    quick[quick.index('--batch-sizes') + 1] = '7'
    run = hotlap('sweep', 'resnet50', *quick, '--test-data', HOME / 'loads').passes('Data: with pictures loaded while it runs')
    row = hotlap('sweep', 'resnet50', *QUICK, '--test-data', HOME / 'loads', '--json').passes().rows[0]
    assert row['fed_throughput_ips'] is None and row['data_throughput_ips'] > 0, 'no time passes in simulated steps'


def classifier(classes=2):
    """All pixels of an 8 x 8 picture, weighted, for each class."""
    path = HOME / f'classifier{classes}.onnx'
    weights = [tensor('w', [192, classes], bytes(192 * classes * 4)), tensor('b', [classes], bytes(classes * 4))]
    path.write_bytes(model([node('Flatten', ['picture'], ['flat'], 'a'), node('Gemm', ['flat', 'w', 'b'], ['scores'], 'c')],
                           inputs=[port('picture', [None, 3, 8, 8])], outputs=[port('scores', [None, classes])],
                           initializers=weights))
    return path


def train(data, *more, classes=2):
    return hotlap('train', classifier(classes), '--test-data', data, '--batch-size', '3', '--loss', 'cross-entropy',
                  '--store', 'none', '--json', *more)


@case
def a_network_is_trained_on_a_folder():
    """Red cats and green dogs: from ln 2 to nothing."""
    losses = []
    for threads in ('0', '3'):
        row = train(folder(), '--epochs', '6', '--learning-rate', '0.01', '--loader-threads', threads).passes().rows[0]
        assert '6 pictures of 2 classes; skipped 3' in row['data'], row['data']
        assert abs(row['first_loss'] - 0.693147) < 1e-5 and row['final_loss'] < 0.05, row['step_losses']
        losses.append(row['step_losses'])
    assert losses[0] == losses[1], 'the loader decides nothing'
    row = train(folder(), '--epochs', '1', '--n-images', '3').passes().rows[0]
    assert row['batches_per_epoch'] == 1 and '3 of them, evenly spread' in row['data'], row['data']


@case
def halves_of_a_data_set_are_told_apart():
    for name in ('n01', 'n02', 'n03'):
        png(f'halves/val/{name}/v.png', 30, 30, (9, 9, 9))
        for part, picture in (('train.X1', 'a'), ('train.X2', 'b')):
            if (name, part) not in (('n01', 'train.X2'), ('n03', 'train.X1')):  # a part has some of the classes
                png(f'halves/{part}/{name}/{picture}.png', 30, 30, (9, 9, 9))
    (HOME / 'halves/Labels.json').write_text('{}')
    data = HOME / 'halves'
    hotlap('data', 'show', data).passes('3 pictures (val) of 3 classes', 'hotlap train reads train', 'label 2     n03')
    assert json.loads(hotlap('data', 'show', data, '--json').out)['split'] == 'val'
    assert '3 pictures (val) of 3 classes' in hotlap('sweep', 'resnet50', *QUICK, '--test-data', data, '--json').rows[0]['data']
    row = train(data, '--epochs', '1', '--batch-size', '2', classes=3).passes().rows[0]
    assert '4 pictures (train) of 3 classes' in row['data'] and row['batches_per_epoch'] == 2, row['data']
    # Classes of these names, as they hold pictures themselves, or as one is called otherwise.
    png('same/train/a.png', 30, 30, (9, 9, 9))
    png('same/val/a.png', 30, 30, (9, 9, 9))
    png('vehicles/train/deep/a.png', 30, 30, (9, 9, 9))
    png('vehicles/plane/deep/a.png', 30, 30, (9, 9, 9))
    for name in ('same', 'vehicles'):
        hotlap('data', 'show', HOME / name).passes('2 pictures of 2 classes')


@case
def pictures_that_take_long_to_decode_are_the_bottleneck():
    for i in range(6):
        png(f'large/{"ab"[i % 2]}/{i}.png', 1500, 1000, (9 * i, 9, 9))
    row = train(HOME / 'large', '--epochs', '6').passes().rows[0]
    needed = row['loader_threads_needed']
    assert row['data_wait_percent'] > 50 and needed > 1 and row['data_work_ms'] > 3, row
    told = f'--loader-threads {needed} would end it, if each has a core of its own' if needed <= 256 else \
        'too much for 256 threads: give data that is quicker to read'
    assert row['data_verdict'].startswith('the bottleneck: ') and row['data_verdict'].endswith(told), row['data_verdict']


@case
def pictures_that_turn_out_broken_are_replaced_and_said():
    for i in range(4):
        png(f'half/a/{i}.png', 20, 20, (9, 9, 9))
        png(f'half/b/{i}.png', 20, 20, (99, 9, 9))
    bad = HOME / 'half/a/1.png'
    bad.write_bytes(bad.read_bytes().replace(b'IDAT', b'IDAX', 1))
    row = train(HOME / 'half', '--epochs', '1').passes().rows[0]
    assert '1 broken picture replaced by the next in order: a/1.png' in row['notes'], row['notes']
    run = train(folder(), '--epochs', '1', classes=1)
    assert run.status != 0 and 'has 2 classes (sub-folders); the network tells 1 apart' in run.out + run.err, run.err
    run = train(HOME / 'set/cat', '--epochs', '1')
    assert run.status != 0 and 'no labels' in run.out + run.err, run.err


@case
def folders_that_do_not_do():
    (HOME / 'empty').mkdir()
    (HOME / 'words').mkdir()
    (HOME / 'words/a.txt').write_text('x')
    cut = png('broken/cut.png', 30, 30, (1, 2, 3))
    cut.write_bytes(cut.read_bytes()[:60])
    bad = png('damaged/bad.png', 30, 30, (1, 2, 3))
    bad.write_bytes(bad.read_bytes().replace(b'IDAT', b'IDAX', 1))

    def sweep(data, *parts, model='resnet50'):
        refused([model, *QUICK, '--test-data', data], *parts)
    sweep(HOME / 'empty', 'empty', 'holds no JPEG or PNG')
    sweep(HOME / 'words', 'words', 'a.txt (no JPEG or PNG)')
    sweep(HOME / 'broken', 'broken', 'cut.png (cut short or broken)')
    sweep(HOME / 'damaged', 'bad.png is a broken PNG')
    sweep(bad, 'bad.png', 'put pictures into a folder')
    sweep(folder(), 'set', 'a file of arrays', model='mlp')
    sweep(folder(), 'set', 'a file of arrays', model='ptychopinn')
    refused(['show', bad], 'bad.png', 'put pictures into a folder', command='data')
    refused(['show', HOME / 'empty'], 'empty', 'holds no JPEG or PNG', command='data')


@case
def volumes_are_shown_and_measured_with():
    hotlap('data', 'make', 'nuclei:size=20x40x70,count=2', 'stacks').passes()
    hotlap('data', 'show', 'stacks').passes('a folder of TIFF files', 'nuclei_0001.tif', '20 x 40 x 70 (z, y, x) of float32')
    document = json.loads(hotlap('data', 'show', 'stacks/nuclei_0000.tif', '--json').passes().out)
    shape = [document['files'][0][k] for k in ('depth', 'height', 'width')]
    assert shape == [20, 40, 70] and document['files'][0]['problem'] is None, document
    # 2 x 2 x 3 windows of 16 x 32 x 32 in each; labels and targets are no inputs.
    for data, windows in (('stacks', 24), ('stacks/nuclei_0000.tif', 12), ('nuclei:size=20x40x70,count=3', 36)):
        rows = hotlap('sweep', 'dynunet', *QUICK, '--test-data', data, '--json').passes().rows
        assert f'{windows} windows of 16 x 32 x 32' in rows[0]['data'], (data, rows[0]['data'])
    rows = hotlap('sweep', 'dynunet:dims=2', *QUICK, '--test-data', 'stacks/nuclei_0000.tif', '--n-images', '5', '--json').rows
    assert '5 windows of 1 x 64 x 64' in rows[0]['data'] and 'padded with zeros' in rows[0]['data'], rows[0]['data']


@case
def volumes_that_do_not_do():
    (HOME / 'bad.tif').write_bytes(b'II*\0 nothing of a picture')

    def sweep(data, *parts, model='dynunet'):
        refused([model, *QUICK, '--test-data', data], *parts)
    hotlap('data', 'make', 'nuclei:size=8x16x20,count=1', 'small').passes()
    sweep('bad.tif', 'bad.tif cannot be read as a TIFF', 'Write it again')
    sweep('small/nuclei_0000.tif', 'holds TIFF', 'a file of arrays', model='resnet50')
    sweep('gone.tif', 'gone.tif', 'No such file')
    refused(['show', 'bad.tif'], 'bad.tif cannot be read as a TIFF', command='data')


main()
