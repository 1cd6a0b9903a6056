"""Stand-ins for the client that od-runtime injects."""
X86_64 = 62


def write_program(path, machine=X86_64, size=300000, more=b""):
    """Writes the head of a static program for the machine, which no test starts, and size zeros."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + (3).to_bytes(2, "little") + machine.to_bytes(2, "little")
    head += (1).to_bytes(4, "little") + bytes(8) + (64).to_bytes(8, "little") + bytes(12)
    head += (64).to_bytes(2, "little") + (56).to_bytes(2, "little") + bytes(8)
    with open(path, "wb") as f:
        f.write(head + bytes(size) + more)
