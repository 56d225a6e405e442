"""What any classifier answers on any labeled images: where both come from, and how they meet."""

from regnas.prediction.data import Reading, Samples, samples_of
from regnas.prediction.models import Classifier, load_classifier
from regnas.prediction.predicting import predict

__all__ = ["Classifier", "Reading", "Samples", "load_classifier", "predict", "samples_of"]
