"""Tables of documents that are made from records, so that nobody types a figure: what arena_tables.py and ensembles.py
share. A table stands between `<!-- table: NAME -->` and `<!-- end -->`."""
import sys


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def put(documents, writes, advice):
    """Documents -> name -> text. Writes the tables, or says which are others; returns how many are."""
    wrong = 0
    for document, tables in documents.items():
        before = text = document.read_text()
        for name, content in tables.items():
            begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
            if begin not in text:
                sys.exit(f"{document} has no line {begin.strip()}")
            head, rest = text.split(begin, 1)
            text = head + begin + "\n" + content + "\n\n" + end + rest.split(end, 1)[1]
        if writes and text != before:
            document.write_text(text)
        elif text != before:
            print(f"{document.name}: a table is not what its records say; {advice}", file=sys.stderr)
            wrong += 1
    return wrong
