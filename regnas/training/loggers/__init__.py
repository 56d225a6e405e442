"""The course of every training, for ``metrics.jsonl`` and for loggers that a configuration names."""

from regnas.training.loggers.logger import LOGGERS, Log, LoggedTraining, Logger
from regnas.training.loggers.metrics import METRICS, Metrics, RunLoggers

__all__ = ["LOGGERS", "METRICS", "Log", "LoggedTraining", "Logger", "Metrics", "RunLoggers"]
