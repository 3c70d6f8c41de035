"""Each network once, in torch; trained here and exported to ONNX from here."""
