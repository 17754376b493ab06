// pcr99: registration of 3-D point sets. Made from crates/pcr99-c by `cargo xtask header`: do not edit.
//
// Functions return PCR99_CODE_OK or a failure, whose message pcr99_last_error() returns. Handles (pcr99_solver, pcr99_cloud, pcr99_result) are numbers:
// one that was freed is noticed, and never used. All functions may be called from any thread. C++ programs include pcr99.hpp instead.

#ifndef PCR99_H
#define PCR99_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The scale is `pcr99_scale.low`.
#define PCR99_SCALE_KNOWN 0

// The scale is estimated.
#define PCR99_SCALE_UNKNOWN 1

// The scale is estimated between `pcr99_scale.low` and `pcr99_scale.high`.
#define PCR99_SCALE_RANGE 2

// Coordinates are 64-bit floating-point numbers.
#define PCR99_F64 0

// Coordinates are 32-bit floating-point numbers.
#define PCR99_F32 1

// `registered`, `not_reliable` or `no_solution`.
#define PCR99_TEXT_STATUS 0

// Why the result is not registered, as a word; empty when it is.
#define PCR99_TEXT_DOUBT 1

// The verdict in one sentence.
#define PCR99_TEXT_REASON 2

// The accuracy in one sentence.
#define PCR99_TEXT_ACCURACY 3

// The whole document, as `pcr99 solve --json` prints it.
#define PCR99_TEXT_JSON 4

// The pose as a line of a trajectory of TUM, at time 0.
#define PCR99_TEXT_TUM 5

// The pose as a line of a trajectory of KITTI.
#define PCR99_TEXT_KITTI 6

// The pose as an edge of g2o, from vertex 0 (target) to vertex 1 (source).
#define PCR99_TEXT_G2O 7

// Level of `pcr99_set_log`: no lines.
#define PCR99_LOG_OFF 0

// Level of `pcr99_set_log`: what was decided.
#define PCR99_LOG_INFO 1

// Level of `pcr99_set_log`: also why, with candidates, rounds of the search and doubts.
#define PCR99_LOG_DEBUG 2

// What a call returns. Everything but `PCR99_CODE_OK` is a failure, whose message `pcr99_last_error` returns. Outputs are untouched then.
typedef enum pcr99_code {
    // Success. A transform that cannot be relied on is a success, too: see `pcr99_summary.status`.
    PCR99_CODE_OK = 0,
    // An argument is wrong: a null pointer, an option outside of its range, points that cannot be registered.
    PCR99_CODE_INVALID_ARGUMENT = 1,
    // A handle was freed before, was never made, or is of another kind.
    PCR99_CODE_INVALID_HANDLE = 2,
    // The buffer is too small. The needed size was returned.
    PCR99_CODE_BUFFER_TOO_SMALL = 3,
    // The result does not have what was asked for.
    PCR99_CODE_NOT_AVAILABLE = 4,
    // The memory or the memory budget is exhausted.
    PCR99_CODE_OUT_OF_MEMORY = 5,
    // A bug in pcr99.
    PCR99_CODE_INTERNAL = 6,
} pcr99_code;

// Whether a transform can be relied on.
typedef enum pcr99_status {
    // The transform is confirmed.
    PCR99_STATUS_REGISTERED = 0,
    // There is a transform, but it cannot be relied on: see `PCR99_TEXT_REASON`.
    PCR99_STATUS_NOT_RELIABLE = 1,
    // There is no transform.
    PCR99_STATUS_NO_SOLUTION = 2,
} pcr99_status;

// Points in memory of the caller, with any strides: arrays, matrices of Eigen, clouds of PCL and Open3D. They are read during the call only.
//
// The coordinate `k` (0 to 2) of the point `i` lies at the byte `i * point_stride + k * coordinate_stride` of `data`.
typedef struct pcr99_points {
    // First coordinate of the first point. May be null when `count` is 0.
    const void *data;
    // Number of points.
    size_t count;
    // Type of a coordinate: `PCR99_F64` or `PCR99_F32`. Any alignment will do.
    uint32_t scalar;
    // Bytes from one point to the next; 0 for points without gaps.
    ptrdiff_t point_stride;
    // Bytes from one coordinate to the next; 0 for coordinates side by side.
    ptrdiff_t coordinate_stride;
} pcr99_points;

// A cloud that is prepared once and registered many times, on any number of threads at once.
typedef struct pcr99_cloud {
    // Number of the handle; 0 is none.
    uint64_t id;
} pcr99_cloud;

// What is known of the scale, the number of target units per source unit.
typedef struct pcr99_scale {
    // `PCR99_SCALE_KNOWN`, `PCR99_SCALE_UNKNOWN` or `PCR99_SCALE_RANGE`.
    uint32_t kind;
    // The known scale, or the lower end of the range.
    double low;
    // The upper end of the range.
    double high;
} pcr99_scale;

// Options of `pcr99_register` and `pcr99_refine`. Begin with `pcr99_register_options_default`, and change what you need: 0 is not a default.
typedef struct pcr99_register_options {
    // What is known of the scale; default 1.
    struct pcr99_scale scale;
    // Edge of the voxels with which the clouds are sampled, in target units. By default it is chosen from the data.
    double voxel;
    // Refinement: "point-to-plane" (default, also null), "point-to-point", "plane-to-plane" or "none".
    const char *refine;
    // A pose to refine and judge: sixteen numbers of the matrix `[sR t; 0 1]`, row by row; or null. `pcr99_register` searches nevertheless.
    const double *initial;
    // Maximum number of candidates that are compared with the clouds; default 8.
    uint64_t candidates;
    // Maximum number of threads; by default the number of cores.
    uint64_t threads;
    // Seconds after which the best pose so far is returned; by default there is no limit.
    double time_limit;
    // Seed of the random numbers; default 0.
    uint64_t seed;
} pcr99_register_options;

// Function that a search calls now and then, with the pointer `user` of the caller. A value other than 0 ends the search, which then returns the best result
// so far. It is never called by two threads at once, but not always by the thread of the caller. It must not throw.
typedef int (*pcr99_stop_check)(void *user);

// The result of a registration.
typedef struct pcr99_result {
    // Number of the handle; 0 is none.
    uint64_t id;
} pcr99_result;

// How well two clouds fit under a transform.
typedef struct pcr99_fit {
    // Fraction of the source points that have target points near them.
    double overlap_source;
    // Fraction of the target points that have source points near them.
    double overlap_target;
    // Fraction of the overlapping points whose normals agree within 30°.
    double normal_agreement;
    // Mean distance of the overlapping points from the tangent plane of the other cloud, in voxels.
    double residual_voxels;
    // Fraction of the points that lie a few voxels beside a surface that the other cloud saw there, among the points that can tell.
    double conflict_fraction;
    // Fraction of all points that overlap, agree and lie on no large plane.
    double off_plane_fraction;
} pcr99_fit;

// Options of `pcr99_solve`. Begin with `pcr99_solve_options_default`, and change what you need: 0 is not a default.
typedef struct pcr99_solve_options {
    // What is known of the scale; default 1.
    struct pcr99_scale scale;
    // Inlier threshold: maximum distance of a correct match after the transform, in target units. By default it is found from the data. Methods other than the default one
    // need it.
    double threshold;
    // Name of the method, as `pcr99 solve --method`; null is the default method.
    const char *method;
    // Maximum number of threads; by default the number of cores.
    uint64_t threads;
    // Seconds after which the search ends with the best result so far; by default never.
    double time_limit;
    // Seed of the random numbers; default 0.
    uint64_t seed;
    // Maximum number of candidates; default 5.
    uint64_t candidates;
    // Maximum number of pairs of matches that each round of the search examines; default 100 000.
    uint64_t effort;
    // Accepted probability that a larger consensus was missed; default 10⁻⁶.
    double miss_probability;
    // Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units. By default it is measured.
    double correlation_length;
    // Maximum size of the tables over pairs of matches, in MiB; default 1024.
    uint64_t memory_budget_mib;
} pcr99_solve_options;

// The most important fields of a result. The others are in its JSON document.
typedef struct pcr99_summary {
    // Whether the transform can be relied on.
    enum pcr99_status status;
    // Whether there is a transform. Without one, the transform is all zeros.
    bool has_transform;
    // The matrix `[sR t; 0 1]` from source to target, row by row.
    double transform[16];
    // The scale; 0 without a transform.
    double scale;
    // Number of matches.
    size_t correspondences;
    // Number of matches that agree with the transform.
    size_t inlier_count;
    // Number of unknowns of the covariance: 6, or 7 with an estimated scale; 0 without a covariance.
    size_t covariance_size;
} pcr99_summary;

// Memory of searches that is used again and again. Make one for each thread. Two threads that use one at the same time wait for each other.
typedef struct pcr99_solver {
    // Number of the handle; 0 is none.
    uint64_t id;
} pcr99_solver;

// Matches: pairs of points of which most may be wrong.
typedef struct pcr99_matches {
    // Source points. Row i matches row i of the target, unless there are indices.
    struct pcr99_points source;
    // Target points.
    struct pcr99_points target;
    // Pairs of rows that match, `[source, target]` one after the other, counted from 0; or null.
    const uint64_t *indices;
    // Number of pairs in `indices`.
    size_t index_count;
    // Confidence of each match, higher is better; or null.
    const double *weights;
    // Noise of each match, in any unit; or null.
    const double *standard_deviations;
} pcr99_matches;

// Function that gets a line, with its level and the pointer `user` of the caller. The line is UTF-8 without a line feed, and lives as long as the call. The function is
// never called by two threads at once, but not always by the thread of the caller. It must not throw. Calls of this library that it makes itself tell nothing.
typedef void (*pcr99_log_line)(uint32_t level, const char *line, void *user);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of the library, for instance "0.1.0". The text lives as long as the program.
const char *pcr99_version(void);

// Prepares a cloud. Non-finite and duplicate points are removed.
//
// `normals` may be null; otherwise it has one normal for each point. `viewpoint`, the position of the sensor, has three numbers or is null. `threads` is the
// maximum number of threads; 0 is the number of cores. Free the cloud with `pcr99_cloud_free`.
//
// # Safety
// Pointers are null, or point to what their types say. The memory that the points describe must be readable.
enum pcr99_code pcr99_cloud_new(const struct pcr99_points *points,
                                const struct pcr99_points *normals,
                                const double *viewpoint,
                                uint64_t threads,
                                struct pcr99_cloud *cloud);

// Frees a cloud. The handle 0 is left alone.
enum pcr99_code pcr99_cloud_free(struct pcr99_cloud cloud);

// Finds the transform `b = s·R·a + t` that aligns the source with the target, without given matches.
//
// `options` may be null (the defaults), and so may `stop`. Free the result with `pcr99_result_free`.
//
// # Safety
// Pointers are null, or point to what their types say.
enum pcr99_code pcr99_register(struct pcr99_cloud source,
                               struct pcr99_cloud target,
                               const struct pcr99_register_options *options,
                               pcr99_stop_check stop,
                               void *user,
                               struct pcr99_result *result);

// Refines a given pose without a search. The pose must be right to about three voxels.
//
// `initial` has the sixteen numbers of the matrix `[sR t; 0 1]`, row by row. The rest is as in `pcr99_register`; `options.initial` is not used.
//
// # Safety
// As `pcr99_register`.
enum pcr99_code pcr99_refine(struct pcr99_cloud source,
                             struct pcr99_cloud target,
                             const double *initial,
                             const struct pcr99_register_options *options,
                             pcr99_stop_check stop,
                             void *user,
                             struct pcr99_result *result);

// Measures how well two clouds fit under a given transform, without a verdict.
//
// `voxel` is the edge of the voxels in target units; 0 chooses it from the data.
//
// # Safety
// As `pcr99_register`.
enum pcr99_code pcr99_verify(struct pcr99_cloud source,
                             struct pcr99_cloud target,
                             const double *transform,
                             double voxel,
                             struct pcr99_fit *fit);

// The edge of the voxels that `pcr99_register` uses by default, in target units.
//
// # Safety
// As `pcr99_register`.
enum pcr99_code pcr99_suggest_voxel(struct pcr99_cloud source, struct pcr99_cloud target, double scale, double *voxel);

// Message of the last failure on this thread: one sentence, UTF-8; empty before the first. It is valid until the next call on this thread.
const char *pcr99_last_error(void);

// The default options of `pcr99_solve`.
struct pcr99_solve_options pcr99_solve_options_default(void);

// The default options of `pcr99_register` and `pcr99_refine`.
struct pcr99_register_options pcr99_register_options_default(void);

// The most important fields of a result.
//
// # Safety
// `summary` is null or may be written.
enum pcr99_code pcr99_result_summary(struct pcr99_result result, struct pcr99_summary *summary);

// Indices of the inliers, ascending, counted from 0.
//
// `count` gets their number. `buffer` may be null, to ask for that only.
//
// # Safety
// `buffer` is null or has room for `capacity` values; `count` is null or may be written.
enum pcr99_code pcr99_result_inliers(struct pcr99_result result, uint64_t *buffer, size_t capacity, size_t *count);

// Covariance of the transform, row by row: 36 numbers, or 49 with an estimated scale.
//
// It is that of the small motion `p → p + ω × (p − c) + t + σ·(p − c)` of the moved points that leads from the transform to the true one, in the axes and units
// of the target. Rows and columns are `(ω, t)` or `(ω, t, σ)`; `ω` is in radians. `about` is the point `c`, three numbers; null chooses the centre of the data, which
// `center` gets, if it is not null. `count` gets the number of values, and `buffer` may be null, to ask for that only.
//
// # Safety
// `about` is null or has three numbers, `center` is null or has room for three, and `buffer` is null or has room for `capacity` values.
enum pcr99_code pcr99_result_covariance(struct pcr99_result result,
                                        const double *about,
                                        double *center,
                                        double *buffer,
                                        size_t capacity,
                                        size_t *count);

// A text of a result, in UTF-8, with a zero at its end: one of `PCR99_TEXT_…`.
//
// `size` gets the number of bytes with the zero. `buffer` may be null, to ask for that only.
//
// # Safety
// `buffer` is null or has room for `capacity` bytes; `size` is null or may be written.
enum pcr99_code pcr99_result_text(struct pcr99_result result,
                                  uint32_t which,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *size);

// Reads a result from a JSON document, as `pcr99 solve --json` or `PCR99_TEXT_JSON` write it. Free it with `pcr99_result_free`.
//
// # Safety
// `json` is null or ends with a zero; `result` is null or may be written.
enum pcr99_code pcr99_result_from_json(const char *json,
                                       struct pcr99_result *result);

// Frees a result. The handle 0 is left alone.
enum pcr99_code pcr99_result_free(struct pcr99_result result);

// Makes the memory of a search, to be used for many calls of `pcr99_solve`.
//
// # Safety
// `solver` is null or may be written.
enum pcr99_code pcr99_solver_new(struct pcr99_solver *solver);

// Frees a solver. The handle 0 is left alone.
enum pcr99_code pcr99_solver_free(struct pcr99_solver solver);

// Finds the transform `b = s·R·a + t` from source to target, given matches of which most may be wrong.
//
// `solver` may be 0, `options` null (the defaults) and `stop` null. Free the result with `pcr99_result_free`.
//
// # Safety
// Pointers are null, or point to what their types say. The memory that `matches` describes must be readable.
enum pcr99_code pcr99_solve(struct pcr99_solver solver,
                            const struct pcr99_matches *matches,
                            const struct pcr99_solve_options *options,
                            pcr99_stop_check stop,
                            void *user,
                            struct pcr99_result *result);

// Judges a given transform: counts the matches that agree with it, and tests whether chance explains them.
//
// `transform` has the sixteen numbers of the matrix `[sR t; 0 1]`, row by row. `threshold` is the largest distance of a correct match, in target units.
//
// # Safety
// As `pcr99_solve`.
enum pcr99_code pcr99_assess(const struct pcr99_matches *matches,
                             const double *transform,
                             double threshold,
                             struct pcr99_result *result);

// Calls `line` from now on with each line up to `level`, which is one of `PCR99_LOG_…`. It holds for all threads. With null or with `PCR99_LOG_OFF`, no function
// is called any more once this call has returned. Results do not depend on it.
//
// # Safety
// `line` is null or a function that may be called with `user` until the next call of `pcr99_set_log` has returned.
enum pcr99_code pcr99_set_log(pcr99_log_line line,
                              uint32_t level,
                              void *user);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PCR99_H */
