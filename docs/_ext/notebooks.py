"""Notebooks as pages: their cells are run, with what they print and draw below each."""

from base64 import b64encode
from contextlib import redirect_stdout
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib
import matplotlib.pyplot as plt
from myst_parser.parsers.sphinx_ import MystParser

ROOT = Path(__file__).resolve().parents[2]
GITHUB = 'https://github.com/'
HOSTED = 'https://colab.research.google.com/github/{}/blob/main/{}'


def hosted(path):
    """Return a line with a link that opens a notebook elsewhere, where the project has a home."""
    manifest = ET.parse(ROOT / 'package.xml')  # noqa: S314  own file
    home = str(manifest.findtext("url[@type='repository']"))
    if not home.startswith(GITHUB):
        return ''
    link = HOSTED.format(home.removeprefix(GITHUB), path)
    return f'[Run it in a hosted notebook]({link}), after `%pip install git+{home}`.'


def figures():
    """Return the open figures as images within the page, and close them."""
    out = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format='png', dpi=110)
        out.append(
            '```{raw} html\n<img alt="what the cell draws" src="data:image/png;base64,'
            f'{b64encode(file.getvalue()).decode()}">\n```'
        )
    plt.close('all')
    return out


class Notebook(MystParser):
    """Reads a notebook as the page that it is once it has run."""

    supported = ('notebook',)

    def parse(self, inputstring, document):
        """Run the cells in their order, and parse their text with what they give."""
        matplotlib.use('Agg')
        names, parts = {'__name__': 'notebook'}, []
        for cell in json.loads(inputstring)['cells']:
            text = ''.join(cell['source'])
            if cell['cell_type'] != 'code':
                parts.append(text)
                continue
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(text, 'notebook', 'exec'), names)  # noqa: S102  own notebooks
            parts.append(f'```python\n{text}\n```')
            if printed.getvalue():
                parts.append(f'```text\n{printed.getvalue()}```')
            parts += figures()
        path = Path(document['source']).resolve().relative_to(ROOT)
        parts.insert(1, f'The notebook is `{path}`. {hosted(path)}')
        super().parse('\n\n'.join(parts), document)


def setup(app):
    """Set up the extension."""
    app.add_source_suffix('.ipynb', 'notebook')
    app.add_source_parser(Notebook)
    return {'parallel_read_safe': True}
