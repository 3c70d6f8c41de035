"""A node's end of the network: fetches messages, lets a ClientApp answer them, sends replies.

It speaks the language of Flower's SuperNode, with one difference: it answers with the ClientApp
that is installed here and never runs a program that comes from the server.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import httpx
from flwr.app import Context, Message, RecordDict
from flwr.app.error import Error
from flwr.app.message import remove_content_from_message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.fleet_pb2 import (
    ActivateNodeRequest,
    DeactivateNodeRequest,
    PullMessagesRequest,
    PushMessagesRequest,
)
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.message_pb2 import ObjectTree
from flwr.proto.node_pb2 import Node as NodeProto
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_protobuf_utils import (
    make_confirm_message_received_fn_protobuf,
    make_pull_object_fn_protobuf,
    make_push_object_fn_protobuf,
)
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPullError,
    ObjectPushError,
    inflate_object_from_contents,
    pull_objects,
    push_objects,
)
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from sordino.errors import SordinoError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

# The shortest that Flower takes; a node that is silent twice as long counts as gone.
_HEARTBEAT_SECONDS = 10.0
_POLL_SECONDS = 0.5
_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 20.0


class Node:
    """A node that answers until it is told that the training is over.

    Args:
        address: HOST:PORT of the server.
        authority: the certificate that the server's must be signed by, PEM; None for the system's
            authorities.
        key: the node's private key.
        app: what answers.
        patience: after how many seconds without the server to give up.
    """

    def __init__(
        self,
        address: str,
        authority: str | None,
        key: ec.EllipticCurvePrivateKey,
        app: ClientApp,
        *,
        patience: float,
    ) -> None:
        self._address = address
        self._authority = None if authority is None else authority.encode("ascii")
        self._key = key
        self._app = app
        self._patience = patience

    def run(self, finished: Callable[[], bool]) -> None:
        """Answer messages.

        Args:
            finished: whether the training is over, asked after each reply.

        Raises:
            UsageError: the server does not know the node, or is not the one that was expected.
            SordinoError: the server has been away for too long.
        """
        heard, retry = time.monotonic(), _RETRY_SECONDS
        while True:
            try:
                with self._session() as session:
                    while not finished():
                        session.work()
                        heard, retry = time.monotonic(), _RETRY_SECONDS
                    return
            except httpx.HTTPError as error:
                self._judge(error)
                if time.monotonic() - heard > self._patience:
                    raise SordinoError(
                        f"server {self._address} has not answered for {self._patience:g} s"
                    ) from error
            time.sleep(retry)
            retry = min(2 * retry, _LONGEST_RETRY_SECONDS)

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        public = self._key.public_key()
        with FleetHttpClient.from_server_address(
            self._address,
            False,
            self._authority,
            interceptors=[
                RuntimeVersionHttpInterceptor(component_name="SuperNode"),
                NodeAuthHttpInterceptor(self._key, public),
            ],
        ) as client:
            response = client.ActivateNode(
                ActivateNodeRequest(
                    public_key=public_key_to_bytes(public), heartbeat_interval=_HEARTBEAT_SECONDS
                )
            )
            session = _Session(client, response.node_id, self._app)
            try:
                with session.heartbeat():
                    yield session
            finally:
                with suppress(httpx.HTTPError):
                    client.DeactivateNode(DeactivateNodeRequest(node_id=response.node_id))

    def _judge(self, error: httpx.HTTPError) -> None:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise UsageError(
                    f"server {self._address}: its certificate is not the expected one:"
                    f" {cause.verify_message}"
                ) from error
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, httpx.HTTPStatusError):
            status, path = error.response.status_code, error.request.url.path
            if status == httpx.codes.PRECONDITION_FAILED and path.endswith("/activate-node"):
                raise UsageError(
                    f"server {self._address} does not know the key of this node; give it the"
                    " .pub file"
                ) from error
            if status == httpx.codes.UNAUTHORIZED and path.endswith("/activate-node"):
                raise UsageError(
                    f"server {self._address} refuses the signature of this node; are both clocks"
                    " right?"
                ) from error


class _Session:
    """A node between its being let in and its leaving."""

    def __init__(self, client: FleetHttpClient, node_id: int, app: ClientApp) -> None:
        self._client = client
        self._node = NodeProto(node_id=node_id)
        self._app = app

    def work(self) -> None:
        """Answer one message, or wait for a moment where there is none."""
        response = self._client.PullMessages(PullMessagesRequest(node=self._node))
        if not response.messages_list:
            time.sleep(_POLL_SECONDS)
            return
        announced = message_from_proto(response.messages_list[0])
        # Where the round is over in the meantime, parts of messages are not there any more.
        with suppress(ObjectPullError, ObjectPushError):
            message = self._fetched(announced, response.message_object_trees[0])
            self._send(self._reply(message))

    @contextmanager
    def heartbeat(self) -> Iterator[None]:
        """Tell the server that the node is there, also during long work."""
        stop = threading.Event()
        request = SendNodeHeartbeatRequest(node=self._node, heartbeat_interval=_HEARTBEAT_SECONDS)

        def beat() -> None:
            while not stop.wait(_HEARTBEAT_SECONDS / 2):
                # Whoever fetches messages finds out that the server is gone.
                with suppress(httpx.HTTPError):
                    self._client.SendNodeHeartbeat(request)

        thread = threading.Thread(target=beat, name="sordino-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _fetched(self, announced: Message, tree: ObjectTree) -> Message:
        run_id = announced.metadata.run_id
        pull = make_pull_object_fn_protobuf(self._client.PullObject, self._node, run_id)
        parts = pull_objects([part.object_id for part in iterate_object_tree(tree)], pull)
        confirm = make_confirm_message_received_fn_protobuf(
            self._client.ConfirmMessageReceived, self._node, run_id
        )
        confirm(tree.object_id)
        message = cast(Message, inflate_object_from_contents(tree.object_id, parts))
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message

    def _reply(self, message: Message) -> Message:
        # Flower stamps replies with these.
        TaskIdentity.run_id = message.metadata.run_id
        TaskIdentity.node_id = self._node.node_id
        TaskIdentity.task_id = 0
        context = Context(message.metadata.run_id, self._node.node_id, {}, RecordDict(), {})
        try:
            return self._app(message, context)
        except SordinoError as error:
            failed = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, str(error))
            return Message(failed, reply_to=message)

    def _send(self, reply: Message) -> None:
        run_id = reply.metadata.run_id
        reply.metadata.__dict__["_message_id"] = reply.object_id
        response = self._client.PushMessages(
            PushMessagesRequest(
                node=self._node,
                messages_list=[message_to_proto(remove_content_from_message(reply))],
                message_object_trees=[get_object_tree(reply)],
                clientapp_runtime_list=[0.0],
            )
        )
        push = make_push_object_fn_protobuf(
            self._client.PushObject, self._node, run_id, response.session_id
        )
        wanted = set(response.objects_to_push)
        push_objects(get_all_nested_objects(reply), push, object_ids_to_push=wanted)
