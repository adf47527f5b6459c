/* The search itself: candidates are drawn, every rung runs its candidates, the better ones reach
 * the next rung. All decisions depend on the records only, so that an interrupted search that is
 * started again makes the same ones. */
#include "experiments/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ------------------------------------------------------------------------------- */

static pgcn_status out_of_memory(const exp_search *s) {
    return cli_fail(s->command, PGCN_ERR_MEMORY, "out of memory for %d candidates", s->candidates);
}

static pgcn_status draw_candidates(exp_search *s) {
    s->candidate = calloc((size_t)s->candidates, sizeof *s->candidate);
    s->order = calloc((size_t)s->candidates, sizeof *s->order);
    if (!s->candidate || !s->order) return out_of_memory(s);
    for (int i = 0; i < s->candidates; i++) {
        exp_candidate *c = &s->candidate[i];
        c->rung = -1;
        c->score.number = i;
        s->order[i] = i;
        if (!exp_space_draw(s->space, s->seed, i, &s->present, s->data->data, &c->config))
            return cli_fail(s->command, PGCN_ERR_ARGUMENT,
                            "space %s: no combination of its values is allowed; the last one: %s",
                            s->space->name, pgcn_last_error());
        c->job = calloc((size_t)s->runs, sizeof *c->job);
        if (!c->job) return out_of_memory(s);
    }
    return PGCN_OK;
}

/* Run r of every candidate has seed S + r, and so the same split: they are compared on equal terms. */
static pgcn_status add_runs(exp_search *s, int number, int runs) {
    exp_candidate *c = &s->candidate[number];
    pgcn_config config = c->config;
    for (int r = 0; r < runs; r++) {
        config.seed = s->present.seed + (uint64_t)r;
        CLI_TRY(exp_jobs_add(s->jobs, s->data, &config, s->fresh, &c->job[r]));
    }
    return PGCN_OK;
}

const char *exp_selected(const exp_search *s, const char *part, char out[96]) {
    char key[64];
    exp_measure_key(s, part, key);
    snprintf(out, 96, "selected.%s", key);
    return out;
}

static void score(const exp_search *s, exp_candidate *c, int runs) {
    exp_spread accuracy;
    char path[96];
    c->score.runs = 0;
    for (int r = 0; r < runs; r++)
        if (s->jobs->job[c->job[r]].state != EXP_DONE) {
            c->score.failed = true;
            return;
        }
    if (s->rule == EXP_BY_COMMON_EPOCH)
        c->score.epoch = exp_common_epoch(s->jobs, c->job, runs, &accuracy);
    else
        accuracy = exp_spread_of(s->jobs, c->job, runs, exp_selected(s, "val", path));
    c->score.runs = runs;
    c->score.accuracy = accuracy.mean;
    c->score.deviation = accuracy.deviation;
    c->score.loss = exp_spread_of(s->jobs, c->job, runs, "selected.val_loss").mean;
}

/* The accuracy of one run, as it enters the mean of its candidate. */
static double accuracy_of_run(const exp_search *s, const exp_candidate *c, int run) {
    const exp_job *job = &s->jobs->job[c->job[run]];
    char path[96];
    return s->rule == EXP_BY_COMMON_EPOCH
               ? exp_accuracy_after(job, c->score.epoch)
               : exp_record_number(job->record, exp_selected(s, "val", path));
}

/* ---- a rung ----------------------------------------------------------------------------------- */

/* The first `count` in the order, and the present recipe, which is in every rung for comparison. */
static int list_rung(const exp_search *s, int count, int *member) {
    int members = 0;
    bool present = false;
    for (int i = 0; i < count; i++) {
        if (s->candidate[s->order[i]].score.failed) continue;
        member[members++] = s->order[i];
        present |= s->order[i] == 0;
    }
    if (!present) member[members++] = 0;
    return members;
}

static pgcn_status rank_all(exp_search *s) {
    exp_score *list = calloc((size_t)s->candidates, sizeof *list);
    if (!list) return out_of_memory(s);
    for (int i = 0; i < s->candidates; i++) list[i] = s->candidate[i].score;
    exp_rank(list, s->candidates, s->rule == EXP_BY_LOSS);
    for (int i = 0; i < s->candidates; i++) s->order[i] = list[i].number;
    free(list);
    return PGCN_OK;
}

static pgcn_status run_rung(exp_search *s, int number) {
    pgcn_rung rung = s->rung[number];
    int *member = calloc((size_t)s->candidates + 1, sizeof *member);
    if (!member) return out_of_memory(s);
    int members = list_rung(s, rung.candidates, member);
    pgcn_status status = PGCN_OK;
    for (int i = 0; i < members && status == PGCN_OK; i++)
        status = add_runs(s, member[i], rung.runs);
    char what[96];
    snprintf(what, sizeof what, "%srung %d of %d: ", s->prefix ? s->prefix : "", number + 1,
             s->rungs);
    s->pace.what = what;
    if (status == PGCN_OK) status = exp_jobs_run(s->jobs, &s->pace);
    for (int i = 0; i < members && status == PGCN_OK; i++) {
        s->candidate[member[i]].rung = number;
        score(s, &s->candidate[member[i]], rung.runs);
    }
    s->pace.what = "";
    free(member);
    return status == PGCN_OK ? rank_all(s) : status;
}

/* ---- how many candidates fit into the time ------------------------------------------------------ */

enum { LEAST = 4, MOST = 5000 };

/* The number that was decided the first time: a resumed search must not become another one because
 * its first job ran faster today. 0 if nothing was decided for this search. */
static int recall_candidates(const exp_search *s, const char *path, const char *id) {
    json_t *kept = s->fresh ? NULL : json_load_file(path, 0, NULL);
    const char *of = json_string_value(json_object_get(kept, "search"));
    json_int_t candidates = json_integer_value(json_object_get(kept, "candidates"));
    bool same = of && strcmp(of, id) == 0 && candidates >= LEAST && candidates <= MOST;
    json_decref(kept);
    return same ? (int)candidates : 0;
}

/* What the decision depends on. */
static pgcn_status budget_id(const exp_search *s, char id[200]) {
    char hash[EXP_HASH_BYTES], key[EXP_KEY_BYTES], kind[EXP_KEY_BYTES];
    if (!exp_hash(s->space->text, strlen(s->space->text), hash) ||
        !exp_job_key(s->data, &s->present, key, kind))
        return out_of_memory(s);
    snprintf(id, 200, "%.16s %s %llu %d %d %.6g", hash, key, (unsigned long long)s->seed, s->runs,
             s->keep, s->budget_minutes);
    return PGCN_OK;
}

/* Seconds of a run, measured on the present recipe: its runs in the first rung are needed
 * anyway. */
static pgcn_status time_present(exp_search *s, double *seconds) {
    pgcn_halving(MOST, s->runs, s->keep, s->rung);
    int runs = s->rung[0].runs;
    s->candidates = 1;
    *seconds = 0;
    CLI_TRY(draw_candidates(s));
    CLI_TRY(add_runs(s, 0, runs));
    s->pace.what = "timing: ";
    CLI_TRY(exp_jobs_run(s->jobs, &s->pace));
    for (int r = 0; r < runs; r++) {
        const exp_job *job = &s->jobs->job[s->candidate[0].job[r]];
        if (job->state != EXP_DONE)
            return cli_fail(s->command, PGCN_ERR_SYSTEM,
                            "the present recipe cannot be trained, so nothing can be compared with "
                            "it");
        *seconds += exp_record_number(job->record, "seconds") / runs;
    }
    return PGCN_OK;
}

/* The most candidates whose rungs fit into the budget. */
static pgcn_status candidates_from_budget(exp_search *s) {
    char path[EXP_PATH_BYTES], id[200];
    double seconds;
    snprintf(path, sizeof path, "%.4000s/budget.json", s->out);
    CLI_TRY(budget_id(s, id));
    s->candidates = recall_candidates(s, path, id);
    if (s->candidates > 0) return PGCN_OK;
    pgcn_status status = time_present(s, &seconds);
    exp_search_free(s);
    if (status != PGCN_OK) return status;
    double room = 60 * s->budget_minutes * s->pace.processes / fmax(seconds, 1e-3);
    for (s->candidates = LEAST; s->candidates < MOST; s->candidates++) {
        pgcn_rung rung[PGCN_MOST_RUNGS];
        int rungs = pgcn_halving(s->candidates + 1, s->runs, s->keep, rung);
        if ((double)exp_rungs_trainings(rung, rungs) > room) break;
    }
    json_t *kept = json_pack("{s:s, s:i, s:f}", "search", id, "candidates", s->candidates,
                             "seconds_of_a_run", seconds);
    status = cli_write_json(s->command, path, kept, JSON_INDENT(1));
    json_decref(kept);
    return status;
}

/* ---- the search ------------------------------------------------------------------------------- */

pgcn_status exp_search_run(exp_search *s) {
    if (s->candidates == 0) CLI_TRY(candidates_from_budget(s));
    CLI_TRY(draw_candidates(s));
    s->rungs = pgcn_halving(s->candidates, s->runs, s->keep, s->rung);
    for (int r = 0; r < s->rungs; r++) CLI_TRY(run_rung(s, r));
    if (s->candidate[s->order[0]].score.failed)
        return cli_fail(s->command, PGCN_ERR_SYSTEM, "every candidate failed; the logs are in %s",
                        s->jobs->directory);
    for (size_t i = 0; i < s->jobs->count; i++) {
        const exp_job *job = &s->jobs->job[i];
        if (job->state == EXP_DONE) {
            s->seconds += exp_record_number(job->record, "seconds");
            s->core_seconds += exp_record_number(job->record, "core_seconds");
        }
        s->failed += job->state == EXP_FAILED && !job->diverged;
    }
    return PGCN_OK;
}

void exp_search_free(exp_search *s) {
    for (int i = 0; s->candidate && i < s->candidates; i++) free(s->candidate[i].job);
    free(s->candidate);
    free(s->order);
    s->candidate = NULL;
    s->order = NULL;
}

void exp_search_gain(const exp_search *s, int a, int b, double *mean, double *error) {
    const exp_candidate *x = &s->candidate[a], *y = &s->candidate[b];
    int runs = x->score.runs < y->score.runs ? x->score.runs : y->score.runs;
    exp_tally gain = {0};
    for (int r = 0; r < runs; r++)
        exp_tally_add(&gain, accuracy_of_run(s, x, r) - accuracy_of_run(s, y, r));
    exp_spread spread = exp_tally_spread(&gain);
    *mean = spread.mean;
    *error = runs > 1 ? spread.deviation / sqrt(runs) : NAN; /* of one run it is not known */
}
