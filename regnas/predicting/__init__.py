"""What any classifier answers on any labelled images: where both come from, and how they meet."""

from regnas.predicting.data import Reading, Samples, samples_of
from regnas.predicting.models import Classifier, load_classifier
from regnas.predicting.predicting import predict

__all__ = ["Classifier", "Reading", "Samples", "load_classifier", "predict", "samples_of"]
