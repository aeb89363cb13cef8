"""The HTTP server: `GET /me`."""

import json
import logging
import signal
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

from .authwire import Authwire
from .signed_in import who_is_signed_in


def serve(authwire: Authwire, address: str, cookie: str) -> None:
    """Serves until SIGTERM or SIGINT, and then finishes the active requests."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds for a request to arrive

        def do_GET(self) -> None:
            if self.path != "/me":
                return self.answer(HTTPStatus.NOT_FOUND, {"error": "not found"})
            try:
                who = who_is_signed_in(authwire, self.headers.items(), cookie)
            except grpc.RpcError as error:
                logging.error("cannot tell who is signed in: %s: %s", error.code().name, error.details())
                return self.answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "cannot tell who is signed in"})
            if who is None:
                return self.answer(HTTPStatus.UNAUTHORIZED, {"error": "nobody is signed in"})
            me = {"userId": who.user_id, "name": who.name, "email": who.email, "by": who.by}
            return self.answer(HTTPStatus.OK, me)

        def answer(self, status: HTTPStatus, body: dict[str, str | None]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Does not log individual requests."""

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # closing the server waits for the active requests

    host, _, port = address.rpartition(":")
    with Server((host, int(port)), Handler) as server:
        # shutdown() waits for serve_forever(), which the signal handler interrupts. It therefore needs another thread.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"listening on http://{host}:{server.server_port}", flush=True)
        server.serve_forever()
