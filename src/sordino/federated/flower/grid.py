"""Flower's Grid over the state of a link in the same process: what a ServerApp sends and gets."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from flwr.app import Message, RecordDict
from flwr.app.error import Error
from flwr.app.message import make_message, remove_content_from_message
from flwr.common.constant import ErrorCode
from flwr.proto.message_pb2 import ObjectTree
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.run import Run

if TYPE_CHECKING:
    from flwr.server.superlink.linkstate import LinkState

_POLL_SECONDS = 0.1


class LinkGrid(Grid):
    """Messages to nodes and their replies.

    Unlike Flower's own, it never waits for a node that has announced a reply and does not send
    it, and who a reply comes from is what the link has verified, not what the reply says.

    Args:
        state: of the link.
        run: in which messages are sent.
    """

    def __init__(self, state: LinkState, run: Run) -> None:
        self._state = state
        self._run = run
        # Replies that were announced, until all of their parts are there; by the message's id.
        self._announced: dict[str, Message] = {}

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    def set_run(self, run: Run) -> None:
        """Take part in another run of the same link."""
        self._run = run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """A message to a node."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """Of the nodes that are connected."""
        return sorted(self._state.get_nodes(self._run.run_id))

    def get_nodes(self) -> Iterable[NodeInfo]:
        """The nodes that are connected, with their names."""
        return self._state.get_node_info(node_ids=list(self.get_node_ids()))

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Send messages.

        Returns:
            Their ids, in the same order; an empty one where the node is not there.
        """
        return [self._push(message) for message in messages]

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Replies that are complete, and errors in place of those that will never be."""
        known = self._state.get_message_ids_from_run_id(self._run.run_id)
        wanted = set(message_ids)
        asked = (wanted & known) - self._announced.keys()
        errors = []
        for reply in self._state.get_message_res(asked, self._run.run_id) if asked else []:
            if reply.has_error():
                errors.append(reply)
                self._state.object_store.delete(reply.metadata.message_id)
            else:
                self._announced[reply.metadata.reply_to_message_id] = reply
        ready = [message_id for message_id in self._announced if message_id in wanted]
        complete = [got for message_id in ready if (got := self._complete(message_id))]
        done = {reply.metadata.reply_to_message_id for reply in (*errors, *complete)}
        self.drop_messages(done)
        return [*errors, *complete]

    def drop_messages(self, message_ids: Iterable[str]) -> None:
        """Forget messages and replies; what still arrives for them is refused."""
        ids = set(message_ids)
        for message_id in ids:
            reply = self._announced.pop(message_id, None)
            if reply is not None:
                self._state.object_store.delete(reply.metadata.message_id)
            self._state.object_store.delete(message_id)
        self._state.delete_messages(message_ins_ids=ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Send messages and wait for replies, for so many seconds at most."""
        waiting = {message_id for message_id in self.push_messages(messages) if message_id}
        until = None if timeout is None else time.monotonic() + timeout
        replies: list[Message] = []
        while waiting:
            new = self.pull_messages(waiting)
            replies += new
            waiting -= {reply.metadata.reply_to_message_id for reply in new}
            if until is not None and time.monotonic() >= until:
                break
            time.sleep(_POLL_SECONDS)
        self.drop_messages(waiting)
        return replies

    def _push(self, message: Message) -> str:
        message.metadata.__dict__["_message_id"] = message.object_id
        objects = get_all_nested_objects(message)
        session = self._state.start_session(self._run.run_id)
        stored, missing = self._state.store_message_and_object_tree(
            remove_content_from_message(message), get_object_tree(message), session
        )
        if not stored:
            return ""
        for object_id in missing:
            content = objects[object_id].deflate()
            self._state.store_object(self._run.run_id, session, object_id, content)
        return message.metadata.message_id

    def _complete(self, message_id: str) -> Message | None:
        reply = self._announced[message_id]
        tree = self._tree(reply.metadata.message_id)
        if tree is None:
            return _unreadable(reply, "its parts are gone")
        parts: dict[str, bytes] = {}
        for part in iterate_object_tree(tree):
            content = self._state.get_object(self._run.run_id, part.object_id)
            if not content:
                return None
            parts[part.object_id] = content
        try:
            inflated = cast(Message, inflate_object_from_contents(tree.object_id, parts))
            content_of = inflated.content
        except Exception as error:  # whatever a node sends, it only loses its own reply
            return _unreadable(reply, f"{type(error).__name__}")
        return make_message(metadata=reply.metadata, content=content_of)

    def _tree(self, object_id: str) -> ObjectTree | None:
        from flwr.supercore.object_store import NoObjectInStoreError

        try:
            return self._state.object_store.get_object_tree(object_id)
        except NoObjectInStoreError:
            return None


def _unreadable(reply: Message, why: str) -> Message:
    error = Error(ErrorCode.UNKNOWN, f"the reply cannot be read: {why}")
    return make_message(metadata=reply.metadata, error=error)
