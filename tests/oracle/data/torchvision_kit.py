"""torchvision's ImageNet transform for evaluation, where torchvision is installed."""

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def imagenet_transform():
    """From a PIL image to a tensor of (3, 224, 224); None without torchvision. A build of it for
    another torch lacks two operators, which transforms of pictures have no use for."""
    try:
        import torch
        try:
            from torchvision import transforms
        except RuntimeError:
            library = torch.library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            from torchvision import transforms
    except (ImportError, RuntimeError):
        return None
    return transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
                               transforms.Normalize(MEAN, DEVIATION)])
