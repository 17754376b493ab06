/* Registers matches of which most are wrong, in C. Prints the transform, or why there is none. */
#include <pcr99.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 400 };

/* Numbers from 0 to 1, the same on every machine. */
static double next_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void demand(pcr99_code code) {
    if (code != PCR99_CODE_OK) {
        fprintf(stderr, "error: %s\n", pcr99_last_error());
        exit(2);
    }
}

int main(void) {
    static double source[COUNT][3], target[COUNT][3];
    uint64_t state = 7;
    for (int i = 0; i < COUNT; ++i) {
        for (int k = 0; k < 3; ++k) source[i][k] = next_number(&state);
        /* One match in ten is right: turned by 90 degrees about z, and moved. */
        const double right[3] = {2.0 - source[i][1], source[i][0] - 1.0, source[i][2] + 3.0};
        for (int k = 0; k < 3; ++k) target[i][k] = i % 10 == 0 ? right[k] + 0.002 * next_number(&state) : 4.0 * next_number(&state);
    }

    pcr99_matches matches = {{source, COUNT, PCR99_F64, 0, 0}, {target, COUNT, PCR99_F64, 0, 0}, NULL, 0, NULL, NULL};
    pcr99_solve_options options = pcr99_solve_options_default();
    options.threshold = 0.01;
    pcr99_result result = {0};
    demand(pcr99_solve((pcr99_solver){0}, &matches, &options, NULL, NULL, &result));

    pcr99_summary summary;
    demand(pcr99_result_summary(result, &summary));
    char reason[512];
    demand(pcr99_result_text(result, PCR99_TEXT_REASON, reason, sizeof reason, NULL));
    printf("%s, %zu of %zu matches agree\n", reason, summary.inlier_count, summary.correspondences);
    for (int i = 0; i < 4 && summary.has_transform; ++i)
        printf("%9.5f %9.5f %9.5f %9.5f\n", summary.transform[4 * i], summary.transform[4 * i + 1], summary.transform[4 * i + 2],
               summary.transform[4 * i + 3]);
    const int status = summary.status == PCR99_STATUS_REGISTERED ? 0 : 1;
    demand(pcr99_result_free(result));
    return status;
}
