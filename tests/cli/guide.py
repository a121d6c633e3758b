"""docs/guide.md: each of its lines is run as it stands."""
import re

from harness import SOURCE, main
from pages_kit import page


def user(place):
    """The service of the page."""
    program, = re.findall(r'```python\n(.*?)```', (SOURCE / 'docs/guide.md').read_text(), re.S)
    (place / 'serve.py').write_text(program)


page('guide', user)
main()
