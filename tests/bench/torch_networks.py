"""Built-in networks as torch modules, as their authors would write them, for benches."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def two_convs(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1),
                         nn.ReLU())


class Decoder(nn.Module):
    def __init__(self, a, widths, patterns, size, phase):
        super().__init__()
        layers = []
        for b in widths:
            layers += [two_convs(a, b), nn.Upsample(scale_factor=2)]
            a = b
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(60, patterns, 3, padding=1)
        self.pad, self.phase = size // 4, phase

    def forward(self, x):
        y = self.head(self.body(x)[:, :60])
        y = math.pi * torch.tanh(y) if self.phase else torch.sigmoid(y)
        return F.pad(y, [self.pad] * 4)


class PtychoPINN(nn.Module):
    """N=64, gridsize 1."""

    def __init__(self):
        super().__init__()
        layers, a = [], 1
        for b in (64, 128, 256):
            layers += [two_convs(a, b), nn.MaxPool2d(2)]
            a = b
        self.encoder = nn.Sequential(*layers)
        self.amplitude = Decoder(256, (128, 64), 1, 64, False)
        self.phase = Decoder(256, (128, 64), 1, 64, True)

    def forward(self, x):
        x = self.encoder(x / (math.sqrt(1e9) / 32))
        return self.amplitude(x), self.phase(x)


class Bottleneck(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
            nn.Conv2d(b, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
            nn.Conv2d(b, 4 * b, 1, bias=False), nn.BatchNorm2d(4 * b))
        self.short = None
        if stride != 1 or a != 4 * b:
            self.short = nn.Sequential(nn.Conv2d(a, 4 * b, 1, stride, bias=False),
                                       nn.BatchNorm2d(4 * b))

    def forward(self, x):
        return F.relu(self.body(x) + (self.short(x) if self.short else x), inplace=True)


def resnet50():
    """v1.5: the stride is in the 3x3 convolution."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    a = 64
    for stage, (b, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for i in range(count):
            layers.append(Bottleneck(a, b, 2 if stage and not i else 1))
            a = 4 * b
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def conv_norm(a, b, kernel, stride=1):
    return [nn.Conv3d(a, b, kernel, stride, kernel // 2, bias=False),
            nn.InstanceNorm3d(b, affine=True)]


class ResBlock(nn.Module):
    def __init__(self, a, b, stride, residual=True):
        super().__init__()
        self.body = nn.Sequential(*conv_norm(a, b, 3, stride), nn.LeakyReLU(.01, inplace=True),
                                  *conv_norm(b, b, 3))
        self.short = nn.Sequential(*conv_norm(a, b, 1, stride)) if residual else None

    def forward(self, x):
        y = self.body(x)
        return F.leaky_relu(y + self.short(x) if self.short else y, .01, inplace=True)


class DynUNet(nn.Module):
    """MONAI's, as CytoDL has it."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([ResBlock(1, 16, 1), ResBlock(16, 32, 2), ResBlock(32, 64, 2)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(64, 32, 2, 2, bias=False),
                                 nn.ConvTranspose3d(32, 16, 2, 2, bias=False)])
        self.join = nn.ModuleList([ResBlock(64, 32, 1, False), ResBlock(32, 16, 1, False)])
        self.last = nn.Conv3d(16, 1, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](a)
        x = self.join[0](torch.cat([self.up[0](self.down[2](b)), b], 1))
        return self.last(self.join[1](torch.cat([self.up[1](x), a], 1)))


def transformer_encoder():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0, batch_first=True)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)


def mlp():
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                         nn.Linear(4096, 1024))


def dice_cross_entropy(x, t):
    p, axes = torch.sigmoid(x), tuple(range(2, x.dim()))
    dice = (2 * (p * t).sum(axes) + 1e-5) / (p.sum(axes) + t.sum(axes) + 1e-5)
    return 1 - dice.mean() + F.binary_cross_entropy_with_logits(x, t)


NETWORKS = {  # builder, input shape, loss
    'ptychopinn': (PtychoPINN, (1, 64, 64), 'mse'),
    'resnet50': (resnet50, (3, 224, 224), 'cross-entropy'),
    'dynunet': (DynUNet, (1, 16, 32, 32), 'dice-ce'),
    'transformer_encoder': (transformer_encoder, (128, 512), 'mse'),
    'mlp': (mlp, (1024,), 'mse'),
}
LOSSES = {
    'cross-entropy': F.cross_entropy,
    'dice-ce': dice_cross_entropy,
    'mse': F.mse_loss,
}

# Modules whose order differs from that of their weights in the ONNX file.
ORDER = {'dynunet': ('down', 'up.0', 'join.0', 'up.1', 'join.1', 'last')}


def in_file_order(name, network):
    """Learnt parameters in the order of the ONNX file."""
    parameters = list(network.named_parameters())
    if name == 'transformer_encoder':  # there norm1 comes before linear1
        order = ('self_attn', 'norm1', 'linear1', 'linear2', 'norm2')
        parameters.sort(key=lambda p: (int(p[0].split('.')[1]), order.index(p[0].split('.')[2])))
    elif name in ORDER:
        parameters.sort(key=lambda p: next(i for i, m in enumerate(ORDER[name])
                                           if p[0].startswith(m + '.')))
    return parameters


def load_weights(name, network, initializers):
    """Gives the network the weights of the ONNX file, a dict of arrays in the file's order."""
    arrays = [w for key, w in initializers.items() if key.endswith(('.weight', '.bias'))]
    parameters = in_file_order(name, network)
    if len(arrays) != len(parameters):
        raise ValueError(f'{name}: {len(parameters)} parameters, {len(arrays)} in the file')
    with torch.no_grad():
        for (key, parameter), w in zip(parameters, arrays):
            if name == 'transformer_encoder' and w.ndim == 2:
                w = w.T  # MatMul
            if parameter.shape != w.shape:
                raise ValueError(f'{name}: {key} is {tuple(parameter.shape)}, not {w.shape}')
            parameter.copy_(torch.from_numpy(w.copy()))
