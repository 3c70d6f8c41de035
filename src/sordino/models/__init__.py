"""Model bundles: what a model consists of, where it is found, and how its graphs are run."""
