"""Prints pickle_samples.h: four values as Python and NumPy write them with protocols 0 to 4.

    /usr/bin/python3 tests/unit/pickle_samples.py > tests/unit/pickle_samples.h

The file was made with NumPy 1.24 and SciPy 1.10.
"""
import collections
import pickle

import numpy
import scipy.sparse

neighbours = collections.defaultdict(list, {0: [1, 2], 1: [0], 2: []})
VALUES = {
    "plain": {
        "k": [1, -2, 70000, -3 * 2**40],
        "t": (1.5, None, True, False),
        "e": ((), [], {}),
        "s": "text\n",
    },
    "array": numpy.array([[1, 200], [3, -4]], "<i4"),
    "csr": scipy.sparse.csr_matrix(numpy.array([[0, 2.5], [1, 0]], "<f4")),
    "neighbours": neighbours,
}


def c_pieces(data):
    """The bytes as pieces of a C string, each an escape or a character."""
    for byte in data:
        if chr(byte) in '"\\':
            yield "\\" + chr(byte)
        elif 32 <= byte < 127 and chr(byte) != "?":
            yield chr(byte)
        else:
            yield "\\n" if byte == 10 else "\\%03o" % byte


def c_string(data):
    lines = [""]
    for piece in c_pieces(data):
        if len(lines[-1]) + len(piece) > 88:
            lines.append("")
        lines[-1] += piece
    return "\n     ".join('"%s"' % line for line in lines)


print("/* Made by pickle_samples.py: value[i] is the pickle of protocol i. */")
print("#ifndef PGCN_TEST_PICKLE_SAMPLES_H\n#define PGCN_TEST_PICKLE_SAMPLES_H\n")
print("#include <stddef.h>\n\n/* clang-format off */")
print("typedef struct pickle_sample {\n    const char *data;\n    size_t bytes;\n} pickle_sample;")
for name, value in VALUES.items():
    print("static const pickle_sample sample_%s[5] = {" % name)
    for protocol in range(5):
        data = pickle.dumps(value, protocol=protocol)
        print("    {%s, %d}," % (c_string(data), len(data)))
    print("};")
print("/* clang-format on */\n\n#endif")
