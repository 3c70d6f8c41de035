"""Who speaks: speaker vectors, their comparison, enrolment, verification and identification."""

DEFAULT_ENCODER = "ecapa-small"
