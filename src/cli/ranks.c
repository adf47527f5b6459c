/* Under mpirun or srun: rank 0 is the program as ever, the others serve it and say nothing. Which commands share their
 * work, and what is said when a rank fails. Called by main.c, and by `train` on the other ranks. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>

static struct {
    bool serves;     /* a rank other than 0 */
    bool joined;     /* the others */
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

/* Jobs of these are processes of their own, which MPI does not allow. */
static bool forks(const char *command) {
    return strcmp(command, "tune") == 0 || strcmp(command, "reproduce") == 0;
}

pgcn_status cli_ranks_begin(const char *command, bool *done) {
    int rank, size = pgcn_ranks_expected(&rank);
    *done = false;
    if (size == 1) return PGCN_OK;
    if (strcmp(command, "train") != 0) {
        *done = rank > 0; /* rank 0 does it alone */
        if (rank > 0 || !forks(command)) return PGCN_OK;
        *done = true;
        return cli_fail(NULL, PGCN_ERR_ARGUMENT,
                        "%s runs its trainings in processes of this machine and cannot share them "
                        "between %d ranks; start it without mpirun or srun",
                        command, size);
    }
    ranks.serves = rank > 0;
    ranks.rank = rank;
    if (ranks.serves && !freopen("/dev/null", "w", stdout)) return PGCN_ERR_IO;
    /* signals that a launcher hands to all are for rank 0 to answer */
    if (ranks.serves) signal(SIGINT, SIG_IGN);
    if (ranks.serves) signal(SIGTERM, SIG_IGN);
    pgcn_status status = pgcn_ranks_join(NULL, NULL);
    ranks.joined = status == PGCN_OK;
    return cli_report(NULL, status);
}

pgcn_status cli_ranks_serve(const pgcn_dataset *data) {
    ranks.has_served = true;
    return pgcn_ranks_serve(data, ranks.said);
}

int cli_ranks_end(int code) {
    if (!ranks.serves || !ranks.joined) { /* what kept it from joining is said by rank 0 */
        pgcn_ranks_leave();
        return code;
    }
    pgcn_status status =
        ranks.has_served ? (code == EXIT_DONE ? PGCN_OK : PGCN_ERR_SYSTEM) : cli_ranks_serve(NULL);
    if (status != PGCN_OK)
        fprintf(stderr, "pathgcn: rank %d on %s: %s\n", ranks.rank, pgcn_ranks_host(),
                pgcn_last_error());
    pgcn_ranks_leave();
    return status == PGCN_OK ? EXIT_DONE : EXIT_FAILED;
}
