"""The two ends of the network, over TLS, in one process."""

from __future__ import annotations

import ssl
import threading
import time

import pytest

pytest.importorskip("flwr", reason="needs the extra federated")

import httpx
from flwr.app import Message
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
from flwr.proto.node_pb2 import Node as NodeProto
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import push_objects
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.constants import PROTOBUF_MEDIA_TYPE
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from sordino.errors import OutputError, SordinoError, UsageError
from sordino.federated.flower.certificates import create_certificates
from sordino.federated.flower.client_app import client_app
from sordino.federated.flower.extra import require_flower
from sordino.federated.flower.link import Link, _application, _State
from sordino.federated.flower.messages import packed, unpacked
from sordino.federated.flower.node import Node
from sordino.federated.flower.node_keys import (
    create_node_key,
    read_private_key,
    read_public_keys,
)
from sordino.federated.flower.trial import free_port

LARGEST = 20_000


class Network:
    """A link with the nodes anna and ben, and a stranger."""

    def __init__(self, folder) -> None:
        require_flower()
        self.folder, self.port = folder, free_port()
        self.certificates = create_certificates(folder / "tls", ["127.0.0.1"])
        (folder / "keys").mkdir()
        for name in ("anna", "ben"):
            create_node_key(folder / "keys" / name)
        create_node_key(folder / "stranger")
        self.address = f"127.0.0.1:{self.port}"
        self.authority = (folder / "tls" / "ca.crt").read_text()
        self.keys = {
            "anna": read_private_key(folder / "keys" / "anna"),
            "ben": read_private_key(folder / "keys" / "ben"),
            "stranger": read_private_key(folder / "stranger"),
        }

    def link(self) -> Link:
        nodes = read_public_keys(self.folder / "keys")
        return Link("127.0.0.1", self.port, self.certificates, nodes, largest=LARGEST)

    def node(self, name: str, app: ClientApp, *, authority: str | None = None) -> Node:
        known = authority or self.authority
        return Node(self.address, known, self.keys[name], app, patience=0.5)

    def client(self, name: str) -> FleetHttpClient:
        key = self.keys[name]
        return FleetHttpClient.from_server_address(
            self.address,
            False,
            self.authority.encode(),
            interceptors=[NodeAuthHttpInterceptor(key, key.public_key())],
        )

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority)

    def activate(self, client: FleetHttpClient, name: str) -> NodeProto:
        public = public_key_to_bytes(self.keys[name].public_key())
        request = ActivateNodeRequest(public_key=public, heartbeat_interval=10)
        return NodeProto(node_id=client.ActivateNode(request).node_id)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return Network(tmp_path_factory.mktemp("network"))


@pytest.fixture
def link(network):
    with network.link() as link:
        yield link


def nobody(data: bytes) -> bytes:
    raise AssertionError("nobody is asked")


SILENT = client_app(nobody, lambda _: None)


def test_an_answer_comes_back_with_the_name_of_the_node(network, link):
    ended: list[bytes] = []
    app = client_app(lambda data: data[::-1], ended.append)
    thread = threading.Thread(target=lambda: network.node("anna", app).run(lambda: bool(ended)))
    thread.start()
    grid = link.grid
    while not list(grid.get_nodes()):
        time.sleep(0.02)
    (node,) = grid.get_nodes()
    assert node.name == "anna"
    # Both are made now: in one process, the node's end changes what Flower stamps on messages.
    ask = Message(packed(b"abc"), node.node_id, "train", ttl=30.0)
    end = Message(packed(b"model"), node.node_id, "query.end", ttl=30.0)

    (reply,) = grid.send_and_receive([ask], timeout=30)
    assert unpacked(reply.content) == b"cba"
    assert reply.metadata.src_node_id == node.node_id
    (_,) = grid.send_and_receive([end], timeout=30)
    thread.join(30)
    assert not thread.is_alive()
    assert ended == [b"model"]
    assert list(grid.get_nodes()) == []
    # Nothing is left behind that could grow from round to round.
    assert len(link._state.object_store) == 0


def test_strangers_are_not_let_in(network, link):
    with pytest.raises(UsageError, match="does not know the key of this node"):
        network.node("stranger", SILENT).run(lambda: False)


def test_a_server_with_another_certificate_is_not_talked_to(network, link, tmp_path):
    create_certificates(tmp_path, ["127.0.0.1"])
    other = (tmp_path / "ca.crt").read_text()
    with pytest.raises(UsageError, match="certificate is not the expected one"):
        network.node("anna", SILENT, authority=other).run(lambda: False)


def test_a_node_gives_up_when_the_server_stays_away(network):
    with pytest.raises(SordinoError, match=r"has not answered for 0\.5 s"):
        network.node("anna", SILENT).run(lambda: False)


def test_a_port_in_use_is_told(network, link):
    with pytest.raises(OutputError, match="it is in use"), network.link():
        pass


def test_nothing_but_what_nodes_need_can_be_reached(network, link):
    paths = {getattr(route, "path", "") for route in _application(_State(), LARGEST).routes}
    with httpx.Client(verify=network.trust()) as client:
        for path in ("/v1/control/start-run", "/v1/runtime/acquire-task", "/docs", "/"):
            url, kind = f"https://{network.address}{path}", {"content-type": PROTOBUF_MEDIA_TYPE}
            assert client.post(url, headers=kind).status_code == 404
    assert all(path.startswith("/v1/fleet/") for path in paths if path)


def test_requests_that_are_too_large_are_refused_unread(network, link):
    with httpx.Client(verify=network.trust()) as client:
        url = f"https://{network.address}/v1/fleet/push-object"
        assert client.post(url, content=b"x" * (LARGEST + 1)).status_code == 413
        assert client.post(url, content=iter([b"x"])).status_code == 413
        assert client.post(url, content=b"x" * 100).status_code != 413


@pytest.fixture
def asked(network, link):
    """Anna has got a message; gives her client, her node, the message and its answer."""
    TaskIdentity.node_id, TaskIdentity.run_id = 1, link.grid.run.run_id
    with network.client("anna") as client:
        node = network.activate(client, "anna")
        (message_id,) = link.grid.push_messages(
            [Message(packed(b"abc"), node.node_id, "train", ttl=30.0)]
        )
        response = client.PullMessages(PullMessagesRequest(node=node))
        message = message_from_proto(response.messages_list[0])
        TaskIdentity.node_id = node.node_id
        reply = Message(packed(b"cba"), reply_to=message)
        reply.metadata.__dict__["_message_id"] = reply.object_id
        yield client, node, message_id, reply


def pushing(node: NodeProto, reply: Message) -> PushMessagesRequest:
    return PushMessagesRequest(
        node=node,
        messages_list=[message_to_proto(remove_content_from_message(reply))],
        message_object_trees=[get_object_tree(reply)],
    )


def test_a_reply_that_is_announced_and_never_sent_holds_nobody_up(link, asked):
    client, node, message_id, reply = asked
    assert client.PushMessages(pushing(node, reply)).objects_to_push

    began = time.monotonic()
    assert link.grid.pull_messages([message_id]) == []
    assert time.monotonic() - began < 5
    link.grid.drop_messages([message_id])
    assert link.grid.pull_messages([message_id]) == []


def test_a_node_may_leave_as_soon_as_it_has_answered(link, asked):
    client, node, message_id, reply = asked
    response = client.PushMessages(pushing(node, reply))
    push = make_push_object_fn_protobuf(
        client.PushObject, node, reply.metadata.run_id, response.session_id
    )
    push_objects(
        get_all_nested_objects(reply), push, object_ids_to_push=set(response.objects_to_push)
    )
    client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id))

    (got,) = link.grid.pull_messages([message_id])
    assert unpacked(got.content) == b"cba"


def test_a_node_that_leaves_without_an_answer_is_told_as_gone(link, asked):
    client, node, message_id, _ = asked
    client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id))

    (got,) = link.grid.pull_messages([message_id])
    assert got.error.code == ErrorCode.NODE_UNAVAILABLE
    assert len(link._state.object_store) == 0


def test_nobody_answers_in_the_name_of_another(network, link, asked):
    _, _, message_id, reply = asked
    with network.client("ben") as client:
        ben = network.activate(client, "ben")
        with pytest.raises(httpx.HTTPStatusError, match="403"):
            client.PushMessages(pushing(ben, reply))
        reply.metadata.__dict__["_src_node_id"] = ben.node_id
        assert not client.PushMessages(pushing(ben, reply)).objects_to_push
    assert link.grid.pull_messages([message_id]) == []


def test_replies_of_many_parts_are_refused(link, asked):
    client, node, message_id, reply = asked
    request = pushing(node, reply)
    for number in range(20):
        request.message_object_trees[0].children.add(object_id=f"{number:064x}")

    assert not client.PushMessages(request).objects_to_push
    assert link.grid.pull_messages([message_id]) == []


def test_a_reply_that_cannot_be_read_is_an_error_and_no_more(link, asked):
    client, node, message_id, reply = asked
    response = client.PushMessages(pushing(node, reply))
    for object_id in response.objects_to_push:
        # Flower's store checks that contents have their names; nothing is stored.
        link._state.object_store.store[object_id].content = b"rubbish"
        link._state.object_store.store[object_id].is_available = True

    (got,) = link.grid.pull_messages([message_id])
    assert got.has_error()


def test_a_node_that_was_killed_is_let_in_again_at_once(network, link):
    with network.client("anna") as client:
        first = network.activate(client, "anna")
    with network.client("anna") as client:
        assert network.activate(client, "anna") == first
