"""Writes the numbered schema files into one C array: embed.py OUTPUT.c 0001.sql 0002.sql ..."""
import json
import os
import sys

output, *files = sys.argv[1:]
with open(output, "w") as out:
    out.write('#include "store/schema.h"\n\nconst char *const hl_store_schemas[] = {\n')
    for number, name in enumerate(files, 1):
        if os.path.basename(name) != f"{number:04}.sql":
            sys.exit(f"{name}: expected {number:04}.sql; schema files are numbered without gaps")
        with open(name) as sql:
            # A JSON string of ASCII text is a C string.
            for i, line in enumerate(sql):
                out.write(f"    {json.dumps(line)}\n")
        out.write("    ,\n")
    out.write("};\nconst int hl_store_schema_count = %d;\n" % len(files))
