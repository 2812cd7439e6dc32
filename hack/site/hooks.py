"""Adapts the pages, which are written for GitHub, to MkDocs."""

import os
import re

SOURCE = "https://github.com/holdfast-project/holdfast/blob/main/"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)]*)?\)")
ITEM = re.compile(r"(\d+\.|[*-]) ")


def on_page_markdown(markdown, page, **_):
    folder = os.path.dirname(page.file.src_path)
    return "\n".join(_indent_lists(_link(markdown, folder).split("\n")))


def _link(markdown, folder):
    """Changes links out of docs/ to links to the repository, and links to a folder to links to its README. The text of a link may span lines."""

    def replace(match):
        text, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if "://" in target or target.startswith("mailto:"):
            return match.group(0)
        path = os.path.normpath(os.path.join("docs", folder, target))
        if not path.startswith("docs" + os.sep):
            return f"{text}{SOURCE}{path}{anchor})"
        if os.path.isdir(path):
            readme = os.path.join(path, "README.md")
            return f"{text}{os.path.join(target, 'README.md')}{anchor})" if os.path.exists(readme) else f"{text}{SOURCE}{path})"
        return match.group(0)

    return LINK.sub(replace, markdown)


def _indent_lists(lines):
    """Indents the content of list items by four spaces, which Python-Markdown requires. GitHub accepts two or three.

    Also adds the blank line that Python-Markdown requires between a paragraph and a list.
    """
    width, fenced, before = 0, False, ""
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = None if fenced else ITEM.match(line)
        indent = len(line) - len(line.lstrip())
        if item:
            if before.strip() and not width:
                yield ""
            width = len(item.group(0))
            yield line
        elif line.strip() and indent < 2 and not fenced:
            # A line without indentation continues the item unless a blank line comes before it.
            if not before.strip():
                width = 0
            yield line
        elif width and line.strip() and indent >= width:
            yield " " * (4 - width) + line
        else:
            yield line
        before = line
