"""A training step of several processes, with the result of one process on all images.

Every process runs its part of the images through the same sub-networks. The processes share the statistics of batch
norms and, after the backward pass, the gradients together with the loss and the received signals.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regnas.runtime import signals
from regnas.runtime.processes import Processes

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def average_gradients(parameters: Iterable[nn.Parameter], loss: Tensor, processes: Processes) -> Tensor:
    """Average the gradients over the processes, in place; return the mean loss and the receivers of each signal.

    The loss and the result are tensors [1] and [1 + signals] on the device, which nobody waits for here.

    One sum of all values after the backward pass. DistributedDataParallel starts while the pass is running, and takes
    the whole objective as the forward of one module. With two CPU processes, its steps of the cifar10 preset give the
    same bits in 0.96 of the time, which is within noise. That does not justify a second path for the gradients, which
    accumulation and the exchange of loss and signals would have to bypass.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    arrived = [float(signals.received() == number) for number in SIGNALS]
    tail = torch.tensor(arrived, device=loss.device)
    row = torch.cat([*(gradient.reshape(-1) for gradient in gradients), loss, tail])
    processes.sum_(row)
    row[: -len(SIGNALS)] /= processes.count
    start = 0
    for gradient in gradients:
        gradient.copy_(row[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
    return row[start:]


class SharedStatistics(TorchFunctionMode):
    """Inside the block, every batch norm in training mode uses the statistics of the images of all processes.

    The networks do not change. SyncBatchNorm of torch would replace their norms, which a supernet builds again in every
    pass, and it does not run on the CPU.
    """

    def __init__(self, processes: Processes) -> None:
        super().__init__()
        self.processes = processes

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is F.batch_norm:
            return _shared_batch_norm(self.processes, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _shared_batch_norm(
    processes: Processes,
    input: Tensor,  # the names of torch.nn.functional.batch_norm
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not training:
        return F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    mean, variance = _statistics(input.detach(), processes)
    if running_mean is not None and running_var is not None:
        values = processes.count * input.numel() // input.shape[1]
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        running_var.lerp_((variance * (values / (values - 1))).to(running_var.dtype), momentum)
    normalized: Tensor = _Normalized.apply(input, weight, bias, mean, variance, eps, processes)
    return normalized


def _statistics(images: Tensor, processes: Processes) -> tuple[Tensor, Tensor]:
    """Return mean and (biased) variance per channel over all processes, which have the same number of images.

    From the mean m_r and the variance v_r of every process: m = mean_r m_r, v = mean_r (v_r + (m_r - m)^2). Unlike a
    difference of sums of squares, this keeps its precision if the mean is large.
    """
    unused = images.new_zeros((2, images.shape[1]), dtype=torch.promote_types(images.dtype, torch.float32))
    # Ten times as fast as var_mean on images in channels_last, with sufficient precision.
    own = torch.batch_norm_update_stats(images, unused[0], unused[1], 0.0)
    means, variances = processes.gather(torch.stack(own)).unbind(1)  # [processes, C]
    mean = means.mean(0)
    return mean, (variances + (means - mean).square()).mean(0)


class _Normalized(torch.autograd.Function):
    """y = weight * x^ + bias with x^ = (x - mean) / sqrt(variance + eps), for the mean and variance of all N values.

    dL/dx = weight / sqrt(variance + eps) * (dL/dy - (sum dL/dy + x^ * sum dL/dy * x^) / N), with the sums over all
    processes. The gradients of weight and bias stay in the process, and are averaged like all gradients.
    """

    @staticmethod
    def forward(
        ctx: Any,
        images: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        epsilon: float,
        processes: Processes,
    ) -> Tensor:
        ctx.save_for_backward(images, weight, mean, variance)
        ctx.epsilon, ctx.processes = epsilon, processes
        return torch.batch_norm(images, weight, bias, mean, variance, False, 0.0, epsilon, False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        images, weight, mean, variance = ctx.saved_tensors
        processes: Processes = ctx.processes
        # With fixed statistics: weight / deviation * dL/dy, sum dL/dy * x^, sum dL/dy
        direct, scaled, plain = torch.ops.aten.native_batch_norm_backward(
            gradients[0], images, weight, mean, variance, None, None, False, ctx.epsilon, [True, True, True]
        )
        sums = processes.sum_(torch.stack([scaled, plain]))
        values = processes.count * images.numel() // images.shape[1]
        inverse = (variance + ctx.epsilon).rsqrt()
        factor = -inverse / values if weight is None else -weight * inverse / values
        slope = factor * inverse * sums[0]
        shape = (1, -1, *[1] * (images.ndim - 2))
        through = torch.addcmul((factor * sums[1] - slope * mean).view(shape), images, slope.view(shape))
        own = (direct + through).to(images.dtype)
        return own, scaled if weight is not None else None, plain if weight is not None else None, *[None] * 4
