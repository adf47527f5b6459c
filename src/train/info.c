/* What this library is and runs on: for `pathgcn info` and for bug reports. */
#include "graph/graph.h"
#include "kernels/kernels.h"

pgcn_info pgcn_info_get(void) {
    return (pgcn_info){
        .version = PGCN_VERSION,
        .isa = pgcn_i_kernels_get()->isa,
        .isa_built = pgcn_i_kernels_built(),
        .compiler = __VERSION__,
        .cores = pgcn_i_cores(),
        .bits_revision = PGCN_BITS_REVISION,
        .partitions = pgcn_i_has_metis() ? "built in, METIS" : "built in",
    };
}

pgcn_status pgcn_ready(void) {
    return pgcn_i_kernels_check();
}
