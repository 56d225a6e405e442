"""The study on CIFAR-10: families of networks, with and without regnas."""
