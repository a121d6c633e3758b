"""Writes files into one C array of assets: embed.py OUTPUT.c TYPE:NAME=PATH ..."""
import base64
import hashlib
import sys

CHUNK = 96
# What would end the element that an asset stands in, as a browser reads it.
ENDS = {'text/javascript': (b'</script', b'<!--'), 'text/css': (b'</style', b'<!--')}


def escaped(chunk):
    """Of bytes the inside of a C string: three octal digits, so that no digit after them counts."""
    return ''.join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f'\\{b:03o}' for b in chunk)


output, *assets = sys.argv[1:]
with open(output, 'w') as out:
    out.write('#include "report/assets.h"\n\nconst hl_asset hl_assets[] = {\n')
    for asset in assets:
        kind, rest = asset.split(':', 1)
        name, path = rest.split('=', 1)
        with open(path, 'rb') as file:
            content = file.read()
        content.decode()  # a page is UTF-8
        for end in ENDS[kind]:
            if end in content.lower():
                sys.exit(f"{path}: has '{end.decode()}', which ends the element it stands in")
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        out.write(f'    {{"{name}", "{kind}", {len(content)}, "{digest}",\n')
        for i in range(0, len(content), CHUNK):
            out.write(f'     "{escaped(content[i:i + CHUNK])}"\n')
        out.write('     ""},\n')
    out.write('};\nconst size_t hl_asset_count = sizeof hl_assets / sizeof *hl_assets;\n')
