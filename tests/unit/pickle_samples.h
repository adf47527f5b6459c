/* Made by pickle_samples.py: value[i] is the pickle of protocol i. */
#ifndef PGCN_TEST_PICKLE_SAMPLES_H
#define PGCN_TEST_PICKLE_SAMPLES_H

#include <stddef.h>

/* clang-format off */
typedef struct pickle_sample {
    const char *data;
    size_t bytes;
} pickle_sample;
static const pickle_sample sample_plain[5] = {
    {"(dp0\nVk\np1\n(lp2\nI1\naI-2\naI70000\naL-3298534883328L\nasVt\np3\n(F1.5\nNI01\nI00\ntp"
     "4\nsVe\np5\n((t(lp6\n(dp7\ntp8\nsVs\np9\nVtext\\u000a\np10\ns.", 126},
    {"}q\000(X\001\000\000\000kq\001]q\002(K\001J\376\377\377\377Jp\021\001\000L-3298534883328"
     "L\neX\001\000\000\000tq\003(G\077\370\000\000\000\000\000\000NI01\nI00\ntq\004X\001\000"
     "\000\000eq\005()]q\006}q\007tq\010X\001\000\000\000sq\011X\005\000\000\000text\nq\nu.", 117},
    {"\200\002}q\000(X\001\000\000\000kq\001]q\002(K\001J\376\377\377\377Jp\021\001\000\212"
     "\006\000\000\000\000\000\375eX\001\000\000\000tq\003(G\077\370\000\000\000\000\000\000N"
     "\210\211tq\004X\001\000\000\000eq\005)]q\006}q\007\207q\010X\001\000\000\000sq\011X\005"
     "\000\000\000text\nq\nu.", 103},
    {"\200\003}q\000(X\001\000\000\000kq\001]q\002(K\001J\376\377\377\377Jp\021\001\000\212"
     "\006\000\000\000\000\000\375eX\001\000\000\000tq\003(G\077\370\000\000\000\000\000\000N"
     "\210\211tq\004X\001\000\000\000eq\005)]q\006}q\007\207q\010X\001\000\000\000sq\011X\005"
     "\000\000\000text\nq\nu.", 103},
    {"\200\004\225K\000\000\000\000\000\000\000}\224(\214\001k\224]\224(K\001J\376\377\377\377"
     "Jp\021\001\000\212\006\000\000\000\000\000\375e\214\001t\224(G\077\370\000\000\000\000"
     "\000\000N\210\211t\224\214\001e\224)]\224}\224\207\224\214\001s\224\214\005text\n\224u.", 86},
};
static const pickle_sample sample_array[5] = {
    {"cnumpy.core.multiarray\n_reconstruct\np0\n(cnumpy\nndarray\np1\n(I0\ntp2\nc_codecs\nenco"
     "de\np3\n(Vb\np4\nVlatin1\np5\ntp6\nRp7\ntp8\nRp9\n(I1\n(I2\nI2\ntp10\ncnumpy\ndtype\np11"
     "\n(Vi4\np12\nI00\nI01\ntp13\nRp14\n(I3\nV<\np15\nNNNI-1\nI-1\nI0\ntp16\nbI00\ng3\n(V\001"
     "\\u0000\\u0000\\u0000\310\\u0000\\u0000\\u0000\003\\u0000\\u0000\\u0000\374\377\377\377"
     "\np17\ng5\ntp18\nRp19\ntp20\nb.", 305},
    {"cnumpy.core.multiarray\n_reconstruct\nq\000(cnumpy\nndarray\nq\001(K\000tq\002c_codecs\n"
     "encode\nq\003(X\001\000\000\000bq\004X\006\000\000\000latin1q\005tq\006Rq\007tq\010Rq"
     "\011(K\001(K\002K\002tq\ncnumpy\ndtype\nq\013(X\002\000\000\000i4q\014I00\nI01\ntq\015Rq"
     "\016(K\003X\001\000\000\000<q\017NNNJ\377\377\377\377J\377\377\377\377K\000tq\020bI00\nh"
     "\003(X\025\000\000\000\001\000\000\000\303\210\000\000\000\003\000\000\000\303\274\303"
     "\277\303\277\303\277q\021h\005tq\022Rq\023tq\024b.", 242},
    {"\200\002cnumpy.core.multiarray\n_reconstruct\nq\000cnumpy\nndarray\nq\001K\000\205q\002c"
     "_codecs\nencode\nq\003X\001\000\000\000bq\004X\006\000\000\000latin1q\005\206q\006Rq\007"
     "\207q\010Rq\011(K\001K\002K\002\206q\ncnumpy\ndtype\nq\013X\002\000\000\000i4q\014\211"
     "\210\207q\015Rq\016(K\003X\001\000\000\000<q\017NNNJ\377\377\377\377J\377\377\377\377K"
     "\000tq\020b\211h\003X\025\000\000\000\001\000\000\000\303\210\000\000\000\003\000\000"
     "\000\303\274\303\277\303\277\303\277q\021h\005\206q\022Rq\023tq\024b.", 229},
    {"\200\003cnumpy.core.multiarray\n_reconstruct\nq\000cnumpy\nndarray\nq\001K\000\205q\002C"
     "\001bq\003\207q\004Rq\005(K\001K\002K\002\206q\006cnumpy\ndtype\nq\007X\002\000\000\000i"
     "4q\010\211\210\207q\011Rq\n(K\003X\001\000\000\000<q\013NNNJ\377\377\377\377J\377\377"
     "\377\377K\000tq\014b\211C\020\001\000\000\000\310\000\000\000\003\000\000\000\374\377"
     "\377\377q\015tq\016b.", 171},
    {"\200\004\225\232\000\000\000\000\000\000\000\214\025numpy.core.multiarray\224\214\014_re"
     "construct\224\223\224\214\005numpy\224\214\007ndarray\224\223\224K\000\205\224C\001b\224"
     "\207\224R\224(K\001K\002K\002\206\224h\003\214\005dtype\224\223\224\214\002i4\224\211"
     "\210\207\224R\224(K\003\214\001<\224NNNJ\377\377\377\377J\377\377\377\377K\000t\224b\211"
     "C\020\001\000\000\000\310\000\000\000\003\000\000\000\374\377\377\377\224t\224b.", 165},
};
static const pickle_sample sample_csr[5] = {
    {"ccopy_reg\n_reconstructor\np0\n(cscipy.sparse._csr\ncsr_matrix\np1\nc__builtin__\nobject"
     "\np2\nNtp3\nRp4\n(dp5\nV_shape\np6\n(I2\nI2\ntp7\nsVmaxprint\np8\nI50\nsVdata\np9\ncnump"
     "y.core.multiarray\n_reconstruct\np10\n(cnumpy\nndarray\np11\n(I0\ntp12\nc_codecs\nencode"
     "\np13\n(Vb\np14\nVlatin1\np15\ntp16\nRp17\ntp18\nRp19\n(I1\n(I2\ntp20\ncnumpy\ndtype\np2"
     "1\n(Vf4\np22\nI00\nI01\ntp23\nRp24\n(I3\nV<\np25\nNNNI-1\nI-1\nI0\ntp26\nbI00\ng13\n(V\\"
     "u0000\\u0000 @\\u0000\\u0000\200\077\np27\ng15\ntp28\nRp29\ntp30\nbsVindices\np31\ng10\n"
     "(g11\n(I0\ntp32\ng17\ntp33\nRp34\n(I1\n(I2\ntp35\ng21\n(Vi4\np36\nI00\nI01\ntp37\nRp38\n"
     "(I3\ng25\nNNNI-1\nI-1\nI0\ntp39\nbI00\ng13\n(V\001\\u0000\\u0000\\u0000\\u0000\\u0000\\u"
     "0000\\u0000\np40\ng15\ntp41\nRp42\ntp43\nbsVindptr\np44\ng10\n(g11\n(I0\ntp45\ng17\ntp46"
     "\nRp47\n(I1\n(I3\ntp48\ng38\nI00\ng13\n(V\\u0000\\u0000\\u0000\\u0000\001\\u0000\\u0000"
     "\\u0000\002\\u0000\\u0000\\u0000\np49\ng15\ntp50\nRp51\ntp52\nbsb.", 787},
    {"ccopy_reg\n_reconstructor\nq\000(cscipy.sparse._csr\ncsr_matrix\nq\001c__builtin__\nobje"
     "ct\nq\002Ntq\003Rq\004}q\005(X\006\000\000\000_shapeq\006(K\002K\002tq\007X\010\000\000"
     "\000maxprintq\010K2X\004\000\000\000dataq\011cnumpy.core.multiarray\n_reconstruct\nq\n(c"
     "numpy\nndarray\nq\013(K\000tq\014c_codecs\nencode\nq\015(X\001\000\000\000bq\016X\006"
     "\000\000\000latin1q\017tq\020Rq\021tq\022Rq\023(K\001(K\002tq\024cnumpy\ndtype\nq\025(X"
     "\002\000\000\000f4q\026I00\nI01\ntq\027Rq\030(K\003X\001\000\000\000<q\031NNNJ\377\377"
     "\377\377J\377\377\377\377K\000tq\032bI00\nh\015(X\011\000\000\000\000\000 @\000\000\302"
     "\200\077q\033h\017tq\034Rq\035tq\036bX\007\000\000\000indicesq\037h\n(h\013(K\000tq h"
     "\021tq!Rq\"(K\001(K\002tq#h\025(X\002\000\000\000i4q$I00\nI01\ntq%Rq&(K\003h\031NNNJ\377"
     "\377\377\377J\377\377\377\377K\000tq'bI00\nh\015(X\010\000\000\000\001\000\000\000\000"
     "\000\000\000q(h\017tq)Rq*tq+bX\006\000\000\000indptrq,h\n(h\013(K\000tq-h\021tq.Rq/(K"
     "\001(K\003tq0h&I00\nh\015(X\014\000\000\000\000\000\000\000\001\000\000\000\002\000\000"
     "\000q1h\017tq2Rq3tq4bub.", 579},
    {"\200\002cscipy.sparse._csr\ncsr_matrix\nq\000)\201q\001}q\002(X\006\000\000\000_shapeq"
     "\003K\002K\002\206q\004X\010\000\000\000maxprintq\005K2X\004\000\000\000dataq\006cnumpy."
     "core.multiarray\n_reconstruct\nq\007cnumpy\nndarray\nq\010K\000\205q\011c_codecs\nencode"
     "\nq\nX\001\000\000\000bq\013X\006\000\000\000latin1q\014\206q\015Rq\016\207q\017Rq\020(K"
     "\001K\002\205q\021cnumpy\ndtype\nq\022X\002\000\000\000f4q\023\211\210\207q\024Rq\025(K"
     "\003X\001\000\000\000<q\026NNNJ\377\377\377\377J\377\377\377\377K\000tq\027b\211h\nX\011"
     "\000\000\000\000\000 @\000\000\302\200\077q\030h\014\206q\031Rq\032tq\033bX\007\000\000"
     "\000indicesq\034h\007h\010K\000\205q\035h\016\207q\036Rq\037(K\001K\002\205q h\022X\002"
     "\000\000\000i4q!\211\210\207q\"Rq#(K\003h\026NNNJ\377\377\377\377J\377\377\377\377K\000t"
     "q$b\211h\nX\010\000\000\000\001\000\000\000\000\000\000\000q%h\014\206q&Rq'tq(bX\006\000"
     "\000\000indptrq)h\007h\010K\000\205q*h\016\207q+Rq,(K\001K\003\205q-h#\211h\nX\014\000"
     "\000\000\000\000\000\000\001\000\000\000\002\000\000\000q.h\014\206q/Rq0tq1bub.", 491},
    {"\200\003cscipy.sparse._csr\ncsr_matrix\nq\000)\201q\001}q\002(X\006\000\000\000_shapeq"
     "\003K\002K\002\206q\004X\010\000\000\000maxprintq\005K2X\004\000\000\000dataq\006cnumpy."
     "core.multiarray\n_reconstruct\nq\007cnumpy\nndarray\nq\010K\000\205q\011C\001bq\n\207q"
     "\013Rq\014(K\001K\002\205q\015cnumpy\ndtype\nq\016X\002\000\000\000f4q\017\211\210\207q"
     "\020Rq\021(K\003X\001\000\000\000<q\022NNNJ\377\377\377\377J\377\377\377\377K\000tq\023b"
     "\211C\010\000\000 @\000\000\200\077q\024tq\025bX\007\000\000\000indicesq\026h\007h\010K"
     "\000\205q\027h\n\207q\030Rq\031(K\001K\002\205q\032h\016X\002\000\000\000i4q\033\211\210"
     "\207q\034Rq\035(K\003h\022NNNJ\377\377\377\377J\377\377\377\377K\000tq\036b\211C\010\001"
     "\000\000\000\000\000\000\000q\037tq bX\006\000\000\000indptrq!h\007h\010K\000\205q\"h\n"
     "\207q#Rq$(K\001K\003\205q%h\035\211C\014\000\000\000\000\001\000\000\000\002\000\000\000"
     "q&tq'bub.", 411},
    {"\200\004\225c\001\000\000\000\000\000\000\214\021scipy.sparse._csr\224\214\ncsr_matrix"
     "\224\223\224)\201\224}\224(\214\006_shape\224K\002K\002\206\224\214\010maxprint\224K2"
     "\214\004data\224\214\025numpy.core.multiarray\224\214\014_reconstruct\224\223\224\214"
     "\005numpy\224\214\007ndarray\224\223\224K\000\205\224C\001b\224\207\224R\224(K\001K\002"
     "\205\224h\014\214\005dtype\224\223\224\214\002f4\224\211\210\207\224R\224(K\003\214\001<"
     "\224NNNJ\377\377\377\377J\377\377\377\377K\000t\224b\211C\010\000\000 @\000\000\200\077"
     "\224t\224b\214\007indices\224h\013h\016K\000\205\224h\020\207\224R\224(K\001K\002\205"
     "\224h\025\214\002i4\224\211\210\207\224R\224(K\003h\031NNNJ\377\377\377\377J\377\377\377"
     "\377K\000t\224b\211C\010\001\000\000\000\000\000\000\000\224t\224b\214\006indptr\224h"
     "\013h\016K\000\205\224h\020\207\224R\224(K\001K\003\205\224h$\211C\014\000\000\000\000"
     "\001\000\000\000\002\000\000\000\224t\224bub.", 366},
};
static const pickle_sample sample_neighbours[5] = {
    {"ccollections\ndefaultdict\np0\n(c__builtin__\nlist\np1\ntp2\nRp3\nI0\n(lp4\nI1\naI2\nasI"
     "1\n(lp5\nI0\nasI2\n(lp6\ns.", 98},
    {"ccollections\ndefaultdict\nq\000(c__builtin__\nlist\nq\001tq\002Rq\003(K\000]q\004(K\001"
     "K\002eK\001]q\005K\000aK\002]q\006u.", 81},
    {"\200\002ccollections\ndefaultdict\nq\000c__builtin__\nlist\nq\001\205q\002Rq\003(K\000]q"
     "\004(K\001K\002eK\001]q\005K\000aK\002]q\006u.", 82},
    {"\200\003ccollections\ndefaultdict\nq\000cbuiltins\nlist\nq\001\205q\002Rq\003(K\000]q"
     "\004(K\001K\002eK\001]q\005K\000aK\002]q\006u.", 79},
    {"\200\004\225N\000\000\000\000\000\000\000\214\013collections\224\214\013defaultdict\224"
     "\223\224\214\010builtins\224\214\004list\224\223\224\205\224R\224(K\000]\224(K\001K\002e"
     "K\001]\224K\000aK\002]\224u.", 89},
};
/* clang-format on */

#endif
