"""Models for `hotlap sweep net:torch_model --engine torch`, in this folder: see docs/engines.md."""


def torch_model():
    import torch
    from torch import nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return model, torch.randn(1, 3, 64, 64)


def torch_text_model():
    """Several inputs by name, one of them without a batch, and a loss of its own."""
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(1000, 64), nn.Linear(64, 4)

        def forward(self, tokens, weights):
            return self.head((self.words(tokens) * weights[:, None]).mean(1))

    return {'model': Classifier(),
            'inputs': {'tokens': torch.randint(1000, (2, 16)), 'weights': torch.ones(16)},
            'batch': {'weights': None},
            'loss': nn.CrossEntropyLoss(label_smoothing=.1)}


def jax_model():
    import jax
    import numpy as np

    def apply(parameters, row):
        hidden = jax.nn.relu(row @ parameters['in']['kernel'] + parameters['in']['bias'])
        return hidden @ parameters['out']['kernel']

    first, second = jax.random.split(jax.random.key(0))
    parameters = {'in': {'kernel': jax.random.normal(first, (64, 256)) / 8, 'bias': np.zeros(256)},
                  'out': {'kernel': jax.random.normal(second, (256, 10)) / 16}}
    return apply, parameters, np.zeros((1, 64), np.float32)
