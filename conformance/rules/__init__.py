"""The rules of the wire contract, written apart from the library, so that a wrong number there cannot agree with itself."""
