"""What a table holds, as one short text: the same for the same rows in any order, another when a row has changed.

Every row is written out column by column, each value with its length so that no two rows read alike, and hashed inside
the engine; two parts of the hashes are added up over all rows. That notices a table that was refreshed, filtered or
exchanged. It is no seal against someone who computes rows to make sums agree: whoever may choose the reference may lie
about it anyway.
"""

import hashlib
import json

from sqlglot import exp

from distpriv.engines.engine import SOURCE, Engine

__all__ = ["content_digest"]

_PARTS = ((1, 15), (16, 15))
"""Where the parts of an MD5 begin, and how many digits they have: so few that a sum of billions fits."""


def content_digest(engine: Engine) -> str:
    """Return a digest of a table's column names, types and rows.

    >>> import pyarrow as pa
    >>> from distpriv.engines.engine import engine_for
    >>> one, other = pa.table({"age": [30, 40]}), pa.table({"age": [40, 30]})
    >>> content_digest(engine_for(one)) == content_digest(engine_for(other))
    True
    >>> content_digest(engine_for(pa.table({"age": [30, 41]}))) == content_digest(engine_for(one))
    False
    """
    columns = sorted(engine.schema.names)
    text = exp.DataType.build("text").sql(dialect=engine.dialect)
    sums = [
        f"CAST(SUM({engine.number_of_hex.format(f'SUBSTRING(h, {start}, {length})')}) AS {text}) AS s{k}"
        for k, (start, length) in enumerate(_PARTS)
    ]
    row = ", ".join(["''", *(_written(name, text, engine.dialect) for name in columns)])
    found = engine.select(
        f"SELECT CAST(COUNT(*) AS {text}) AS n, {', '.join(sums)} "
        f"FROM (SELECT MD5(CONCAT({row})) AS h FROM {SOURCE}) AS rows_hashed"
    ).to_pylist()[0]
    types = [str(engine.schema.field(name).type) for name in columns]
    return hashlib.sha256(json.dumps([columns, types, *found.values()]).encode()).hexdigest()


def _written(name: str, text: str, dialect: str) -> str:
    """Return SQL that writes a value so that what follows it cannot be taken for a part of it."""
    quoted = exp.to_identifier(name, quoted=True).sql(dialect=dialect)
    value = f"CAST({quoted} AS {text})"
    return f"CASE WHEN {quoted} IS NULL THEN 'n' ELSE CONCAT('v', CAST(LENGTH({value}) AS {text}), ':', {value}) END"
