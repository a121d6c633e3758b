"""Writes an ONNX file to measure: a classifier of 64 numbers, with the batch left open.

    pip install onnx numpy
    python3 onnx_model.py classifier.onnx
    hotlap sweep classifier.onnx --batch-sizes 1,8,32

From PyTorch, `torch.onnx.export(model, example, 'model.onnx', dynamic_shapes=...)` writes one; from
TensorFlow, tf2onnx.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

numbers = np.random.default_rng(0)


def weights(name, *shape):
    return numpy_helper.from_array((numbers.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32), name)


graph = helper.make_graph(
    [helper.make_node('Gemm', ['features', 'w1', 'b1'], ['hidden']),
     helper.make_node('Relu', ['hidden'], ['active']),
     helper.make_node('Gemm', ['active', 'w2', 'b2'], ['scores']),
     helper.make_node('Softmax', ['scores'], ['probabilities'], axis=1)],
    'classifier',
    [helper.make_tensor_value_info('features', TensorProto.FLOAT, ['batch', 64])],
    [helper.make_tensor_value_info('probabilities', TensorProto.FLOAT, ['batch', 10])],
    [weights('w1', 64, 256), weights('b1', 256), weights('w2', 256, 10), weights('b2', 10)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, sys.argv[1])
