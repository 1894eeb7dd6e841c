"""How the parts of a workbook are packed and written: so that every program that unpacks them finds the same.

A packed file may hold bytes that belong to none of its parts, and say twice, and differently, what a part is. So the
file must be, byte for byte, what its directory makes of its parts. A part is plain XML: no comments, which some readers
take for the end of a text, no definitions, and no encoding but UTF-8.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

__all__ = ["NotOurs", "require_plainly_packed", "xml_of"]

LONGEST_PART = 64 * 2**20
"""More bytes than any part of a workbook of a release has."""

_BESIDE = "bytes beside those of its parts"
_DECLARATION = re.compile(
    rb"""<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=["']utf-8["'])?(?: standalone=["']yes["'])?\s?\?>\s*""",
    re.IGNORECASE,
)
_NOT_PLAIN = re.compile(rb"<[!?]|\x00")
_HEADING = struct.Struct("<4s5H3L2H")
_LISTED = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


class NotOurs(ValueError):
    """Something in a workbook that is never written here."""


def require_plainly_packed(parts: zipfile.ZipFile, content: bytes) -> None:
    """Refuse a file that is more than its parts, one after the other, and one list of them.

    Args:
        parts: the file as `zipfile` opens it.
        content: all of its bytes.

    Raises:
        NotOurs: it has other bytes too, or a part that is too long.
    """
    entries = parts.infolist()
    for entry in entries:
        if entry.file_size > LONGEST_PART:
            raise NotOurs(f"{entry.filename!r} of more than {LONGEST_PART:,} bytes")
    if b"".join(_packed_anew(entries, content)) != content:
        raise NotOurs(_BESIDE)


def xml_of(parts: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Return a part as XML that is in UTF-8, does not grow when it is read, and has no text in pieces."""
    content = parts.read(name)
    content.decode("utf-8")
    declared = _DECLARATION.match(content)
    plain = content[declared.end() :] if declared else content
    if not plain.startswith(b"<") or _NOT_PLAIN.search(plain):
        raise NotOurs(f"{name!r} with definitions, comments or an encoding of its own")
    return ElementTree.fromstring(content)


def _packed_anew(entries: Sequence[zipfile.ZipInfo], content: bytes) -> Iterator[bytes]:
    """Give the bytes of a file with these parts, packed as they are: headings and parts, the directory, and its end."""
    listed, place = b"", 0
    for entry in entries:
        heading, line = _heading(entry), _listed(entry, place)
        start = place + len(heading)
        place, listed = start + entry.compress_size, listed + line
        if not _unpacks_whole(entry, content[start:place]):
            raise NotOurs(_BESIDE)
        yield heading
        yield content[start:place]
    yield listed
    yield _END.pack(b"PK\x05\x06", 0, 0, len(entries), len(entries), len(listed), place, 0)


def _heading(entry: zipfile.ZipInfo) -> bytes:
    name, told = _told(entry)
    return _HEADING.pack(b"PK\x03\x04", entry.extract_version, *told, 0) + name


def _listed(entry: zipfile.ZipInfo, place: int) -> bytes:
    name, told = _told(entry)
    made = entry.create_system << 8 | entry.create_version
    behind = (0, 0, 0, 0, entry.external_attr, place)  # no extra field, no comment, the first disk, no text
    return _LISTED.pack(b"PK\x01\x02", made, entry.extract_version, *told, *behind) + name


def _told(entry: zipfile.ZipInfo) -> tuple[bytes, tuple[int, ...]]:
    """Return the name of a part, and what is told about it twice: no flag, how and when it was packed, its sizes."""
    name = entry.filename.encode("ascii", errors="replace")
    year, month, day, hour, minute, second = entry.date_time
    time, date = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    return name, (0, entry.compress_type, time, date, entry.CRC, entry.compress_size, entry.file_size, len(name))


def _unpacks_whole(entry: zipfile.ZipInfo, packed: bytes) -> bool:
    """Tell whether packed bytes are a part and nothing behind it."""
    if entry.compress_type == zipfile.ZIP_STORED:
        return len(packed) == entry.file_size
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return False
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    found = stream.decompress(packed, entry.file_size + 1)
    return len(found) == entry.file_size and stream.eof and not stream.unused_data
