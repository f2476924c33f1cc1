"""Serve the built book on this machine: python tools/serve.py [PORT]"""

import sys
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = Path(__file__).resolve().parent.parent / "_build" / "html"


def main(port: int) -> None:
    """Serve until somebody stops it."""
    if not (HTML / "index.html").is_file():
        sys.exit("There is no book yet: run make book first.")
    try:
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=HTML)
        )
    except OSError as error:
        sys.exit(f"Port {port}: {error.strerror}. Try another: make serve PORT={port + 1}")
    print(f"The book is at http://localhost:{port}; Ctrl-C stops it.", flush=True)
    with suppress(KeyboardInterrupt), server:
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
