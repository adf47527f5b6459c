/* pathgcn kernels: what the path kernels of a model do. A kernel s_0 .. s_(k-1) is the polynomial
 * f(x) = sum_i s_i x^i in the transition matrix, so f is its frequency response: f(1) to a constant
 * signal, f(0) = s_0 to what a node has by itself, f(-1) to a signal that changes sign along every
 * edge. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

static pgcn_status run(int argc, char **argv);

const cli_command cli_kernels = {
    .name = "kernels",
    .summary = "the path weights that a model has learnt, and what they do",
    .arguments = "MODEL",
    .text =
        "One line per layer: the weight of each node of a path, its start first, as mean over the\n"
        "channels, and the response of these kernels to a signal: f(1) to a signal that is the same\n"
        "everywhere, f(0) to what a node has by itself, f(-1) to one that changes sign along every\n"
        "edge. A channel smooths if |f(1)| is the largest of the three; it takes\n"
        "differences from the neighbours, as an edge detector does, if |f(0)| or |f(-1)| is\n"
        "larger than |f(1)|. The last column counts the channels in which some later node of a path\n"
        "has a negative weight. --json has the weights of all channels. The network gin has no paths:\n"
        "its layers have (1 + eps, 1), the weights of a node and of the sum over its neighbours.",
    .examples = "  pathgcn kernels runs/karate/model.safetensors\n"
                "  pathgcn kernels runs/cora/model.safetensors --json > kernels.json\n",
    .least_words = 1,
    .most_words = 1,
    .run = run,
};

cli_kernel_effect cli_kernel_measure(const float *weight, int path_length, int channels) {
    /* A kernel with |f(1)| equal to the others (a path of one node, the identity) must not be
     * counted as one or the other because of rounding. */
    const double equal = 1e-6;
    cli_kernel_effect s = {0};
    for (int c = 0; c < channels; c++) {
        double f[3] = {0}, sign = 1;
        bool negative = false;
        for (int i = 0; i < path_length; i++, sign = -sign) {
            double w = weight[(int64_t)i * channels + c];
            f[0] += w;
            f[1] += i == 0 ? w : 0;
            f[2] += sign * w;
            negative |= i > 0 && w < 0;
        }
        for (int x = 0; x < 3; x++) s.at[x] += f[x] / channels;
        double other = fmax(fabs(f[1]), fabs(f[2]));
        s.smooth += fabs(f[0]) > other + equal;
        s.difference += fabs(f[0]) < other - equal;
        s.negative += negative;
    }
    return s;
}

static double mean_weight(const pgcn_config *config, const float *weight, int i) {
    double sum = 0;
    for (int c = 0; c < config->channels; c++) sum += weight[(int64_t)i * config->channels + c];
    return sum / config->channels;
}

static void print_layer(const pgcn_config *config, int layer, const float *weight) {
    cli_kernel_effect s = cli_kernel_measure(weight, config->path_length, config->channels);
    printf("%5d ", layer + 1);
    for (int i = 0; i < config->path_length; i++) printf(" %7.3f", mean_weight(config, weight, i));
    printf("   %7.3f %7.3f %7.3f   %6d %10d %12d\n", s.at[0], s.at[1], s.at[2], s.smooth,
           s.difference, s.negative);
}

static void print_heads(const pgcn_model *model) {
    const pgcn_config *config = pgcn_model_config(model);
    char kind[32];
    pgcn_config_get(config, "kernel", kind, sizeof kind);
    printf("%s: %s, kernel %s, %d channels, weights of epoch %lld\n\nlayer ",
           pgcn_model_dataset(model), pgcn_network_name(config->model), kind, config->channels,
           (long long)pgcn_model_epoch(model));
    for (int i = 0; i < config->path_length; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        printf(" %7s", name);
    }
    printf("   %7s %7s %7s   %6s %10s %12s\n", "f(1)", "f(0)", "f(-1)", "smooth", "difference",
           "any negative");
}

static json_t *layer_to_json(const pgcn_config *config, const float *weight) {
    cli_kernel_effect s = cli_kernel_measure(weight, config->path_length, config->channels);
    json_t *means = json_array(), *channels = json_array();
    for (int i = 0; i < config->path_length; i++)
        json_array_append_new(means, cli_json_real(mean_weight(config, weight, i)));
    for (int c = 0; c < config->channels; c++) {
        json_t *one = json_array();
        for (int i = 0; i < config->path_length; i++)
            json_array_append_new(one,
                                  cli_json_real((double)weight[(int64_t)i * config->channels + c]));
        json_array_append_new(channels, one);
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o}", "mean", means, "f_1",
                     cli_json_real(s.at[0]), "f_0", cli_json_real(s.at[1]), "f_minus_1",
                     cli_json_real(s.at[2]), "smooth", s.smooth, "difference", s.difference,
                     "any_negative", s.negative, "channels", channels);
}

static pgcn_status print(const pgcn_model *model, bool json) {
    const pgcn_config *config = pgcn_model_config(model);
    float *weight = malloc((size_t)config->path_length * (size_t)config->channels * sizeof *weight);
    if (!weight)
        return cli_fail(&cli_kernels, PGCN_ERR_MEMORY,
                        "out of memory for a kernel of %d x %d weights", config->path_length,
                        config->channels);
    json_t *layers = json ? json_array() : NULL;
    pgcn_status status = PGCN_OK;
    for (int l = 0; l < config->layers && status == PGCN_OK; l++) {
        status = cli_report(&cli_kernels, pgcn_model_kernel(model, l, weight));
        if (status != PGCN_OK) break;
        if (!json && l == 0) print_heads(model);
        if (json)
            json_array_append_new(layers, layer_to_json(config, weight));
        else
            print_layer(config, l, weight);
    }
    free(weight);
    if (!json && status == PGCN_OK && config->scaling == PGCN_SCALING_SUM)
        printf(
            "\nA step adds up over the neighbours (scaling sum), so that its eigenvalues reach as far as "
            "the largest degree:\nf(1), f(0) and f(-1) do not tell whether a channel smooths.\n");
    if (json && status == PGCN_OK)
        status = cli_print_json(
            &cli_kernels,
            json_pack("{s:s, s:i, s:i, s:I, s:O}", "dataset", pgcn_model_dataset(model),
                      "path_length", config->path_length, "channels", config->channels, "epoch",
                      (json_int_t)pgcn_model_epoch(model), "layers", layers));
    json_decref(layers);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    bool json = false;
    const cli_option options[] = {CLI_JSON_OPTION(json), CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_kernels, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    char path[CLI_PATH_BYTES];
    pgcn_model *model = NULL;
    CLI_TRY(
        cli_report(&cli_kernels, cli_load_model(cli_model_path(arguments.word[0], path), &model)));
    status = print(model, json);
    pgcn_model_free(model);
    return status;
}
