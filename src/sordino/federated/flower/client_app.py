"""Flower's ClientApp around what a device does."""

from __future__ import annotations

from collections.abc import Callable

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from sordino.federated.flower.messages import END, packed, unpacked


def client_app(respond: Callable[[bytes], bytes], end: Callable[[bytes], None]) -> ClientApp:
    """An app that answers with bytes.

    Args:
        respond: from a request to an upload, both as bytes; what it raises is told to the server
            in place of an upload.
        end: is given the trained model, as bytes, when the training is over.
    """
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return Message(packed(respond(unpacked(message.content))), reply_to=message)

    @app.query(END.partition(".")[2])
    def finish(message: Message, context: Context) -> Message:
        end(unpacked(message.content))
        return Message(packed(b""), reply_to=message)

    return app
