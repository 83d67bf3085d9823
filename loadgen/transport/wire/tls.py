"""TLS over a socket that somebody else reads: ciphertext in and out, so that its stamps survive.

Touches no socket. Verification is on unless the target says `insecure`.
"""

import ssl
from pathlib import Path

from loadgen.errors import InputError

_RECORDS_BYTES = 256 * 1024
_NO_SHARED_PROTOCOL = "NO_APPLICATION_PROTOCOL"


def open_context(insecure: bool = False, ca_file: str = "") -> ssl.SSLContext:
    """What certificates are checked against: `ca_file`, else the system's store, else certifi's.

    Raises: InputError when `ca_file` can't be read as certificates.
    """
    if ca_file:
        context = _context_of_file(ca_file)
    else:
        context = ssl.create_default_context()
        if context.cert_store_stats()["x509_ca"] == 0:
            import certifi  # only where the system has no store of its own

            context.load_verify_locations(certifi.where())
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def _context_of_file(ca_file: str) -> ssl.SSLContext:
    if not Path(ca_file).is_file():
        raise InputError(f"CA file `{ca_file}` does not exist")
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (ssl.SSLError, OSError) as error:
        raise InputError(
            f"CA file `{ca_file}` holds no readable certificate: {error}",
            hint="give a PEM file with the certificate of the authority that signed the server's",
        ) from error


class TlsPipe:
    """One TLS session between two memory buffers."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._session = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_name
        )
        self.closed = False
        """True when the peer has said that nothing more will come."""

    def shake_hands(self, ciphertext: bytes | memoryview = b"") -> bool:
        """True when the handshake is through. What is to be sent waits in `outgoing`.

        Raises: ssl.SSLError, of which `describe_tls_error` makes words.
        """
        if ciphertext:
            self._incoming.write(ciphertext)
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def receive(self, ciphertext: bytes | memoryview) -> bytes:
        """Whatever plaintext these bytes complete, maybe none.

        Raises: ssl.SSLError when the records don't hold.
        """
        if ciphertext:
            self._incoming.write(ciphertext)
        pieces = []
        while True:
            try:
                piece = self._session.read(_RECORDS_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.closed = True
                break
            if not piece:
                self.closed = True
                break
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, plaintext: bytes | memoryview) -> bytes:
        """Ciphertext of the whole piece, and of anything that had to be said before it."""
        self._session.write(plaintext)
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """What the session itself has to say (handshake, key update), maybe nothing."""
        return self._outgoing.read() if self._outgoing.pending else b""


def speaks_other_protocol(error: Exception) -> bool:
    """Whether the server refused because it does not offer HTTP/1.1 at all."""
    return isinstance(error, ssl.SSLError) and _NO_SHARED_PROTOCOL in (error.reason or "")


def describe_tls_error(error: Exception, server_name: str) -> str:
    """`certificate of `host` not accepted: self-signed certificate`, or what else went wrong."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate of `{server_name}` not accepted: {error.verify_message}"
    if isinstance(error, ssl.CertificateError):
        return f"certificate of `{server_name}` not accepted: {error}"
    if speaks_other_protocol(error):
        return f"`{server_name}` offers no HTTP/1.1"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        return f"handshake with `{server_name}` broke off: {reason}"
    what = error.strerror if isinstance(error, OSError) else None
    return f"handshake with `{server_name}` broke off: {what or error}"
