"""The server's end of the network: Flower's link to nodes, inside this process.

Flower's own SuperLink serves three interfaces at one port: that of nodes, that of operators (which
starts programs on the nodes, and by which anybody who reaches the port may register nodes), and
that of the server's program. Here there is only that of nodes, over TLS, for nodes whose keys are
known, and no program is ever sent to them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from flwr.app import Message
from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID, SUPERLINK_NODE_ID
from flwr.proto.fleet_pb2 import PushMessagesRequest
from flwr.proto.message_pb2 import ObjectTree
from flwr.server.superlink.linkstate.in_memory_linkstate import InMemoryLinkState
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID, TaskType
from flwr.supercore.error import http_error_translator
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.protobuf.translation import ProtobufTranslationMiddleware
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.routers.fleet.node_auth import NodeAuthMiddleware
from flwr.superlink.routers.fleet.router import router
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint

from sordino.errors import OutputError
from sordino.federated.flower.certificates import Certificates
from sordino.federated.flower.grid import LinkGrid

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# A reply has a message, its content, and one record.
_MOST_PARTS = 8
_STARTUP_SECONDS = 30.0
_HEARTBEAT_SECONDS = 10.0


class Link:
    """A port at which known nodes fetch messages and leave replies.

    Used as a context: it listens inside of it.

    Args:
        host: the address to listen at.
        port: the port.
        certificates: by which the server proves who it is.
        nodes: public keys as PEM, by name of the node.
        largest: how many bytes a node may send at once.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certificates: Certificates,
        nodes: Mapping[str, bytes],
        *,
        largest: int,
    ) -> None:
        self._address = f"{host}:{port}"
        self._state = _State()
        for name, key in nodes.items():
            self._state.create_node(NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, key, 0, name=name)
        config = uvicorn.Config(
            _application(self._state, largest),
            host=host,
            port=port,
            ssl_certfile=str(certificates.certificate),
            ssl_keyfile=str(certificates.key),
            log_config=None,
            log_level="critical",
            access_log=False,
            ws="none",
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="sordino-link", daemon=True)
        self._pulse = threading.Thread(target=self._beat, name="sordino-link-pulse", daemon=True)
        self._stopping = threading.Event()
        self._grid: LinkGrid | None = None
        self._task = 0

    @property
    def grid(self) -> LinkGrid:
        """For messages to the nodes."""
        if self._grid is None:
            raise RuntimeError("the link is not listening")
        return self._grid

    def __enter__(self) -> Link:
        """Listen.

        Raises:
            OutputError: the address cannot be listened at.
        """
        self._grid = self._started()
        self._thread.start()
        waited = 0.0
        while not self._server.started:
            if not self._thread.is_alive() or waited > _STARTUP_SECONDS:
                raise OutputError(
                    f"cannot listen at {self._address}: it is in use, or not an address of this"
                    " machine"
                )
            self._stopping.wait(0.05)
            waited += 0.05
        self._pulse.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._server.should_exit = True
        self._thread.join(timeout=5.0)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(timeout=5.0)

    def _serve(self) -> None:
        try:
            self._server.run()
        except SystemExit:
            # Uvicorn's way to say that it could not listen; `started` stays false.
            return

    def _started(self) -> LinkGrid:
        run_id = self._state.create_run(
            fab_id=None,
            fab_version=None,
            fab_hash=None,
            override_config={},
            federation_id=NOOP_FEDERATION_ID,
            federation_config=None,
            flwr_aid=NOOP_FLWR_AID,
            primary_task_type=TaskType.SERVER_APP,
        )
        (run,) = self._state.get_run_info(run_ids=[run_id])
        if run.primary_task_id is None:
            raise RuntimeError("Flower made a run without a task")
        self._task = run.primary_task_id
        self._state.claim_task(self._task)
        self._state.activate_task(self._task)
        # Flower stamps messages with these.
        TaskIdentity.task_id = self._task
        TaskIdentity.run_id = run_id
        TaskIdentity.node_id = SUPERLINK_NODE_ID
        return LinkGrid(self._state, run)

    def _beat(self) -> None:
        # Flower gives up a run whose program is silent for a minute.
        while not self._stopping.wait(_HEARTBEAT_SECONDS):
            self._state.acknowledge_task_heartbeat(self._task)


class _State(InMemoryLinkState):
    """What Flower remembers of nodes and messages; nothing of it has to outlive the process."""

    def __init__(self) -> None:
        super().__init__(
            NoOpFederationManager(), ObjectStoreFactory(FLWR_IN_MEMORY_DB_NAME).store()
        )

    def state(self) -> _State:
        """What Flower asks the maker of states for."""
        return self

    def activate_node(self, node_id: int, heartbeat_interval: float) -> bool:
        """Let a node in again at once that was killed and started anew; it has proved its key."""
        self.deactivate_node(node_id)
        return super().activate_node(node_id, heartbeat_interval)

    def get_message_res(self, message_ids: set[str], run_id: int) -> list[Message]:
        """Replies; also of nodes that have left since, for which Flower has an error only."""
        with self.lock:
            answered = message_ids & self.message_ins_id_to_message_res_id.keys()
            replies = [
                self.message_res_store[self.message_ins_id_to_message_res_id[message_id]]
                for message_id in answered
            ]
        left = message_ids - answered
        return [*replies, *(super().get_message_res(left, run_id) if left else ())]

    def store_message_and_object_tree(
        self, message: Message, object_tree: ObjectTree, session_id: str
    ) -> tuple[bool, list[str]]:
        """Refuse replies of many parts, with which a node could fill the memory."""
        if message.metadata.reply_to_message_id:
            for number, _ in enumerate(iterate_object_tree(object_tree)):
                if number >= _MOST_PARTS:
                    return False, []
        return super().store_message_and_object_tree(message, object_tree, session_id)


class _SizeLimit:
    """Refuse requests that are too large, or do not say how large they are, before reading them."""

    def __init__(self, app: ASGIApp, largest: int) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._fits(dict(scope["headers"])):
            await self._app(scope, receive, send)
            return
        headers = [(b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _fits(self, headers: Mapping[bytes, bytes]) -> bool:
        if b"transfer-encoding" in headers:
            return False
        length = headers.get(b"content-length", b"0")
        return length.isdigit() and int(length) <= self._largest


async def _own_messages_only(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Refuse messages in the name of another node; Flower does not compare it with the key."""
    known = getattr(request.state, "protobuf_request", None)
    if isinstance(known, PushMessagesRequest) and any(
        message.metadata.src_node_id != known.node.node_id for message in known.messages_list
    ):
        raise HTTPException(403, "a message in the name of another node")
    return await call_next(request)


def _application(state: _State, largest: int) -> FastAPI:
    middleware: list[Any] = [
        Middleware(_SizeLimit, largest=largest),
        Middleware(BaseHTTPMiddleware, dispatch=http_error_translator),
        Middleware(ProtobufTranslationMiddleware),
        Middleware(NodeAuthMiddleware),
        Middleware(BaseHTTPMiddleware, dispatch=_own_messages_only),
    ]
    application = FastAPI(middleware=middleware, docs_url=None, redoc_url=None, openapi_url=None)
    application.state.linkstate_factory = state
    application.state.enable_supernode_auth = True
    application.include_router(router)
    return application
