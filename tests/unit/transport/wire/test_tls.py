import ssl
from pathlib import Path

import pytest

from loadgen.errors import InputError
from loadgen.transport.wire.tls import describe_tls_error, open_context, speaks_other_protocol


def test_certificates_are_checked_unless_told_otherwise() -> None:
    assert open_context().verify_mode is ssl.CERT_REQUIRED
    assert open_context().check_hostname
    assert open_context(insecure=True).verify_mode is ssl.CERT_NONE


def test_ca_file_that_is_missing_is_an_input_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pem"):
        open_context(ca_file=str(tmp_path / "none.pem"))


def test_certificate_error_names_the_certificate_problem() -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "certificate has expired"
    expected = "certificate of `h` not accepted: certificate has expired"
    assert describe_tls_error(error, "h") == expected


def test_server_without_http_1_1_is_told_from_a_broken_handshake() -> None:
    refusal = ssl.SSLError()
    refusal.reason = "TLSV1_ALERT_NO_APPLICATION_PROTOCOL"
    assert speaks_other_protocol(refusal)
    assert describe_tls_error(refusal, "h") == "`h` offers no HTTP/1.1"
    broken = ssl.SSLError()
    broken.reason = "WRONG_VERSION_NUMBER"
    assert not speaks_other_protocol(broken)
    assert describe_tls_error(broken, "h") == "handshake with `h` broke off: wrong version number"


def test_lost_connection_is_told_in_words() -> None:
    error = ConnectionResetError(104, "connection closed by the server")
    expected = "handshake with `h` broke off: connection closed by the server"
    assert describe_tls_error(error, "h") == expected
