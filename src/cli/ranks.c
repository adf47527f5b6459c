/* Under mpirun or srun: rank 0 is the program as ever, the others serve it and say nothing. Which commands share their
 * work, in one training or prediction (`train`, `predict`, `eval`) or in jobs (`tune`, `reproduce`), and what is said when
 * a rank fails. Called by main.c, and by the commands of the first kind on the other ranks. */
#include "cli/cli.h"

#include <signal.h>

static struct {
    bool serves;     /* a rank other than 0 */
    bool joined;     /* the others */
    bool takes_jobs; /* or hands them out: trainings are not shared */
    bool has_served; /* until rank 0 left */
    int rank;
    char said[2048]; /* the last sentence that was not printed */
} ranks;

bool cli_ranks_serves(void) {
    return ranks.serves;
}

void cli_ranks_keep(const char *sentence) {
    snprintf(ranks.said, sizeof ranks.said, "%s", sentence);
}

/* A rank other than 0 prints nothing; signals that a launcher hands to all are for rank 0 to answer. */
static pgcn_status be_silent(void) {
    if (!ranks.serves) return PGCN_OK;
    if (!freopen("/dev/null", "w", stdout)) return PGCN_ERR_IO;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    return PGCN_OK;
}

pgcn_status cli_ranks_begin(const cli_command *command, bool *done) {
    int size = pgcn_ranks_expected(&ranks.rank);
    pgcn_status (*serve)(void) = command ? command->serve : NULL;
    *done = false;
    if (size == 1) return PGCN_OK;
    if (!serve && !(command && command->shares_rows)) {
        *done = ranks.rank > 0; /* rank 0 does it alone */
        return PGCN_OK;
    }
    ranks.serves = ranks.rank > 0;
    ranks.takes_jobs = serve != NULL;
    CLI_TRY(be_silent());
    pgcn_status status = serve ? pgcn_workers_join() : pgcn_ranks_join(NULL, NULL);
    ranks.joined = status == PGCN_OK;
    CLI_TRY(cli_report(NULL, status));
    if (!serve || !ranks.serves) return PGCN_OK;
    *done = ranks.has_served = true;
    return serve();
}

pgcn_status cli_ranks_serve(const pgcn_dataset *data) {
    ranks.has_served = true;
    return pgcn_ranks_serve(data, ranks.said);
}

void cli_ranks_note(const pgcn_dataset *data) {
    int64_t groups = pgcn_dataset_groups(data, 0);
    int size = pgcn_ranks_expected(NULL);
    if (size <= groups || ranks.serves) return;
    fprintf(stderr,
            "note: %lld of %d ranks have no nodes, because the nodes are %lld "
            "group%s; start %lld rank%s",
            (long long)size - (long long)groups, size, (long long)groups, groups == 1 ? "" : "s",
            (long long)groups, groups == 1 ? "" : "s");
    /* a group has 64 nodes or more, and those of a graph that has a class stay together */
    if (pgcn_dataset_groups(data, size) > groups &&
        pgcn_dataset_describe(data).task != PGCN_TASK_GRAPH)
        fprintf(stderr, ", or make more groups by 'pathgcn data partition --parts N', N from %d on",
                size);
    fputc('\n', stderr);
}

static void leave(void) {
    if (ranks.takes_jobs)
        pgcn_workers_leave();
    else
        pgcn_ranks_leave();
}

int cli_ranks_end(int code) {
    if (!ranks.serves || !ranks.joined) { /* what kept it from joining is said by rank 0 */
        leave();
        return code;
    }
    pgcn_status status =
        ranks.has_served ? (code == EXIT_DONE ? PGCN_OK : PGCN_ERR_SYSTEM) : cli_ranks_serve(NULL);
    if (status != PGCN_OK)
        fprintf(stderr, "pathgcn: rank %d on %s: %s\n", ranks.rank, pgcn_ranks_host(),
                pgcn_last_error());
    leave();
    return status == PGCN_OK ? EXIT_DONE : EXIT_FAILED;
}
