"""What happens to speech on its way to a recogniser: one effect, one module.

Every effect is a function of samples and of a generator, so that a training step can be repeated.
"""
