"""ONNX's conformance cases (onnx 1.16.2) that no engine which people run computes as they say."""

# Where ONNX Runtime and torch agree with each other and not with onnx, hotlap goes with the engines
# that people run.
ROUNDED = "rounds a float to the nearest bfloat16, where the case cuts it off"
WRAPPED = "saturates int8, where the case wraps around"
CORNERS = "align_corners uses the number of output elements there are, not size times scale"
DISPUTED = {
    "test_cast_FLOAT_to_BFLOAT16": ROUNDED,
    "test_castlike_FLOAT_to_BFLOAT16": ROUNDED,
    "test_qlinearmatmul_2D_int8_float16": WRAPPED,
    "test_qlinearmatmul_2D_int8_float32": WRAPPED,
    "test_qlinearmatmul_3D_int8_float16": WRAPPED,
    "test_qlinearmatmul_3D_int8_float32": WRAPPED,
    "test_castlike_FLOAT_to_BFLOAT16_expanded": ROUNDED,
    "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True":
        "does not count what ceil_mode adds behind the padding",
    "test_resize_downsample_scales_linear_align_corners": CORNERS,
    "test_resize_downsample_scales_cubic_align_corners": CORNERS,
}
