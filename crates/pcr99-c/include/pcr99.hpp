// pcr99 for C++17: registration of 3-D point sets, with a verdict on every answer.
//
//     pcr99::Cloud source{scan1}, target{scan2};            // std::vector of points, matrices of Eigen, clouds of PCL
//     pcr99::Result r = pcr99::register_clouds(source, target);
//     if (r) { use(r.transform()); } else { std::cerr << r.reason() << '\n'; }
//
// Everything is a value. Failures are exceptions of the type pcr99::Error.
#ifndef PCR99_HPP
#define PCR99_HPP

#include "pcr99.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pcr99 {

/// A wrong argument, exhausted memory, or a bug in pcr99.
class Error : public std::runtime_error {
public:
    Error(pcr99_code code, const char* message) : std::runtime_error(message), code_(code) {}
    /// The kind of the failure.
    pcr99_code code() const noexcept { return code_; }

private:
    pcr99_code code_;
};

namespace detail {

inline void check(pcr99_code code) {
    if (code != PCR99_CODE_OK) throw Error(code, pcr99_last_error());
}

using LogFunction = std::function<void(std::uint32_t level, const char* line)>;

// The function that gets the lines. It lives until the end of the program, because threads may still call it then.
inline LogFunction& log_function() {
    static auto* const function = new LogFunction;
    return *function;
}

inline void pass_line(std::uint32_t level, const char* line, void* function) noexcept {
    try {
        (*static_cast<LogFunction*>(function))(level, line);
    } catch (...) {  // A line that cannot be shown ends no search.
    }
}

template <class Scalar>
constexpr std::uint32_t scalar_type() {
    static_assert(std::is_same_v<Scalar, double> || std::is_same_v<Scalar, float>, "coordinates are double or float");
    return std::is_same_v<Scalar, double> ? PCR99_F64 : PCR99_F32;
}

// A matrix of Eigen, or anything with its functions.
template <class T, class = void>
struct is_matrix : std::false_type {};
template <class T>
struct is_matrix<T, std::void_t<typename T::Scalar, decltype(std::declval<const T&>().rows()),
                                decltype(std::declval<const T&>().outerStride()),
                                decltype(std::declval<const T&>().innerStride()), decltype(T::IsRowMajor)>>
    : std::true_type {};

// A point with public members x, y and z, as those of PCL and ROS.
template <class T, class = void>
struct has_xyz : std::false_type {};
template <class T>
struct has_xyz<T, std::void_t<decltype(std::declval<T&>().x), decltype(std::declval<T&>().y),
                              decltype(std::declval<T&>().z)>> : std::true_type {};

// A cloud of PCL: points in a member `points`.
template <class T, class = void>
struct has_points : std::false_type {};
template <class T>
struct has_points<T, std::void_t<decltype(std::declval<const T&>().points.data()),
                                 decltype(std::declval<const T&>().points.size())>> : std::true_type {};

}  // namespace detail

/// Calls `function` with a line for each decision of the library, from any thread but never from two at once: what was decided with `PCR99_LOG_INFO`, and also why
/// with `PCR99_LOG_DEBUG`. An empty function ends that. Exceptions of the function are ignored. Results do not depend on it.
inline void set_log(std::function<void(std::uint32_t level, const char* line)> function, std::uint32_t level = PCR99_LOG_INFO) {
    detail::check(pcr99_set_log(nullptr, PCR99_LOG_OFF, nullptr));
    auto& kept = detail::log_function();
    kept = std::move(function);
    if (kept) detail::check(pcr99_set_log(&detail::pass_line, level, &kept));
}

/// A view of points in memory of the caller, which is not copied until a call reads it.
///
/// It is made from a `std::vector` (or anything with `data()` and `size()`) of points, from a matrix of Eigen with three rows or three columns, from a
/// cloud of PCL, or from pointers and strides. A point is an array of three numbers, a vector of Eigen, or has members x, y, z.
class Points {
public:
    /// `count` points of three numbers each, without gaps.
    template <class Scalar>
    Points(const Scalar* data, std::size_t count, std::ptrdiff_t point_stride = 0, std::ptrdiff_t coordinate_stride = 0)
        : view_{data, count, detail::scalar_type<Scalar>(), point_stride, coordinate_stride} {}

    /// A container of points, a matrix of Eigen, or a cloud of PCL.
    template <class Container, class = std::enable_if_t<!std::is_same_v<std::decay_t<Container>, Points>>>
    Points(const Container& points) {  // NOLINT: implicit, so that calls take containers
        if constexpr (detail::is_matrix<Container>::value) {
            from_matrix(points);
        } else if constexpr (detail::has_points<Container>::value) {
            from_structs(points.points.data(), points.points.size());
        } else {
            from_structs(points.data(), points.size());
        }
    }

    const pcr99_points& view() const noexcept { return view_; }

private:
    template <class Point>
    void from_structs(const Point* data, std::size_t count) {
        const auto stride = static_cast<std::ptrdiff_t>(sizeof(Point));
        if constexpr (detail::has_xyz<Point>::value) {
            from_members(data, count, stride);
        } else {
            using Scalar = std::remove_const_t<std::remove_reference_t<decltype((*data)[0])>>;
            const Scalar* first = count == 0 ? nullptr : &(*data)[0];
            static_assert(sizeof(Point) >= 3 * sizeof(Scalar), "a point has three coordinates");
            view_ = {first, count, detail::scalar_type<Scalar>(), stride, 0};
        }
    }

    template <class Point>
    void from_members(const Point* data, std::size_t count, std::ptrdiff_t stride) {
        using Scalar = std::remove_const_t<std::remove_reference_t<decltype(data->x)>>;
        const Scalar* first = count == 0 ? nullptr : &data->x;
        const std::ptrdiff_t step =
            count == 0 ? 0 : reinterpret_cast<const char*>(&data->y) - reinterpret_cast<const char*>(&data->x);
        if (count != 0 && reinterpret_cast<const char*>(&data->z) - reinterpret_cast<const char*>(&data->x) != 2 * step)
            throw Error(PCR99_CODE_INVALID_ARGUMENT, "the members x, y, z of a point are not equally far apart");
        view_ = {first, count, detail::scalar_type<Scalar>(), stride, step};
    }

    template <class Matrix>
    void from_matrix(const Matrix& matrix) {
        using Scalar = typename Matrix::Scalar;
        const auto size = static_cast<std::ptrdiff_t>(sizeof(Scalar));
        const auto inner = static_cast<std::ptrdiff_t>(matrix.innerStride()) * size;
        const auto outer = static_cast<std::ptrdiff_t>(matrix.outerStride()) * size;
        // Bytes from one row to the next, and from one column to the next.
        const std::ptrdiff_t row = Matrix::IsRowMajor ? outer : inner, column = Matrix::IsRowMajor ? inner : outer;
        constexpr int fixed_rows = static_cast<int>(Matrix::RowsAtCompileTime);
        constexpr int fixed_columns = static_cast<int>(Matrix::ColsAtCompileTime);
        // Three rows are points side by side, as Eigen::Matrix3Xd. A 3×3 matrix of dynamic size is read in this way, too.
        const bool in_columns = fixed_rows == 3 || (fixed_columns != 3 && matrix.rows() == 3);
        if (!in_columns && matrix.cols() != 3)
            throw Error(PCR99_CODE_INVALID_ARGUMENT, "a matrix of points needs three rows or three columns");
        const auto count = static_cast<std::size_t>(in_columns ? matrix.cols() : matrix.rows());
        view_ = {matrix.data(), count, detail::scalar_type<Scalar>(), in_columns ? column : row, in_columns ? row : column};
    }

    pcr99_points view_{};
};

/// What is known of the scale, the number of target units per source unit.
class Scale {
public:
    /// A known scale.
    Scale(double known = 1.0) : scale_{PCR99_SCALE_KNOWN, known, known} {}  // NOLINT: implicit
    /// The scale is estimated.
    static Scale unknown() { return Scale({PCR99_SCALE_UNKNOWN, 1.0, 1.0}); }
    /// The scale is estimated between two bounds.
    static Scale between(double low, double high) { return Scale({PCR99_SCALE_RANGE, low, high}); }

    const pcr99_scale& raw() const noexcept { return scale_; }

private:
    explicit Scale(pcr99_scale scale) : scale_(scale) {}
    pcr99_scale scale_;
};

/// A 4×4 matrix `[sR t; 0 1]`, row by row. `Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(m.data())` views it.
using Matrix = std::array<double, 16>;

/// A function that a search calls now and then; `true` ends it. It is called by one thread at a time, not always the caller's.
using StopCheck = std::function<bool()>;

/// Options of `solve`; an empty one has its default.
struct SolveOptions {
    Scale scale;
    std::optional<double> threshold;           ///< Largest distance of a correct match, in target units; default: from the data.
    std::optional<std::string> method;         ///< As `pcr99 solve --method`.
    std::optional<std::uint64_t> threads;      ///< Default: the number of cores.
    std::optional<double> time_limit;          ///< Seconds.
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> candidates;
    std::optional<std::uint64_t> effort;
    std::optional<double> miss_probability;
    std::optional<double> correlation_length;  ///< In target units; default: measured.
    std::optional<std::uint64_t> memory_budget_mib;
    StopCheck stop;
};

/// Options of `register_clouds` and `refine`; an empty one has its default.
struct RegisterOptions {
    Scale scale;
    std::optional<double> voxel;           ///< In target units; default: from the data.
    std::optional<std::string> refine;     ///< "point-to-plane", "point-to-point", "plane-to-plane" or "none".
    std::optional<Matrix> initial;         ///< A pose to refine and judge. `register_clouds` searches nevertheless.
    std::optional<std::uint64_t> candidates;
    std::optional<std::uint64_t> threads;  ///< Default: the number of cores.
    std::optional<double> time_limit;      ///< Seconds.
    std::uint64_t seed = 0;
    StopCheck stop;
};

namespace detail {

// The callback of a call. An exception in it ends the search and is thrown again afterwards.
struct Stopper {
    const StopCheck& check;
    std::exception_ptr thrown{};

    static int ask(void* self) {
        auto& stopper = *static_cast<Stopper*>(self);
        try {
            return stopper.check() ? 1 : 0;
        } catch (...) {
            stopper.thrown = std::current_exception();
            return 1;
        }
    }
    pcr99_stop_check function() const { return check ? &ask : nullptr; }
    void finish(pcr99_code code) const {
        if (thrown) std::rethrow_exception(thrown);
        detail::check(code);
    }
};

inline pcr99_solve_options raw(const SolveOptions& options) {
    pcr99_solve_options raw = pcr99_solve_options_default();
    raw.scale = options.scale.raw();
    raw.seed = options.seed;
    if (options.threshold) raw.threshold = *options.threshold;
    if (options.method) raw.method = options.method->c_str();
    if (options.threads) raw.threads = *options.threads;
    if (options.time_limit) raw.time_limit = *options.time_limit;
    if (options.candidates) raw.candidates = *options.candidates;
    if (options.effort) raw.effort = *options.effort;
    if (options.miss_probability) raw.miss_probability = *options.miss_probability;
    if (options.correlation_length) raw.correlation_length = *options.correlation_length;
    if (options.memory_budget_mib) raw.memory_budget_mib = *options.memory_budget_mib;
    return raw;
}

inline pcr99_register_options raw(const RegisterOptions& options) {
    pcr99_register_options raw = pcr99_register_options_default();
    raw.scale = options.scale.raw();
    raw.seed = options.seed;
    if (options.voxel) raw.voxel = *options.voxel;
    if (options.refine) raw.refine = options.refine->c_str();
    if (options.initial) raw.initial = options.initial->data();
    if (options.candidates) raw.candidates = *options.candidates;
    if (options.threads) raw.threads = *options.threads;
    if (options.time_limit) raw.time_limit = *options.time_limit;
    return raw;
}

// The owner of a handle.
template <class Handle, pcr99_code (*Free)(Handle)>
class Owner {
public:
    Owner() = default;
    explicit Owner(Handle handle) : handle_(handle) {}
    Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
    Owner& operator=(Owner&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owner() { Free(handle_); }
    Handle get() const noexcept { return handle_; }
    Handle* put() noexcept { return &handle_; }

private:
    Handle handle_{};
};

}  // namespace detail

/// Covariance of a transform.
///
/// It is that of the small motion `p → p + ω × (p − c) + t + σ·(p − c)` of the moved points that leads from the transform to the true one, in the axes and units of the
/// target. Rows and columns are `(ω, t)`, or `(ω, t, σ)` with an estimated scale; `ω` is in radians.
struct Covariance {
    std::size_t size = 0;             ///< 6 or 7.
    std::vector<double> values;       ///< `size × size` numbers, row by row.
    std::array<double, 3> center{};   ///< The point c.
    double operator()(std::size_t row, std::size_t column) const { return values.at(row * size + column); }
};

/// The result of a registration. It is true when the transform is confirmed.
class Result {
public:
    /// Reads a JSON document.
    static Result from_json(const std::string& json) {
        Result result;
        detail::check(pcr99_result_from_json(json.c_str(), result.owner_.put()));
        result.load();
        return result;
    }

    explicit operator bool() const noexcept { return summary_.status == PCR99_STATUS_REGISTERED; }
    pcr99_status status() const noexcept { return summary_.status; }
    bool has_transform() const noexcept { return summary_.has_transform; }
    /// The matrix from source to target; throws when there is none.
    Matrix transform() const {
        if (!summary_.has_transform) throw Error(PCR99_CODE_NOT_AVAILABLE, "the result has no transform");
        Matrix matrix;
        for (std::size_t k = 0; k < matrix.size(); ++k) matrix[k] = summary_.transform[k];
        return matrix;
    }
    double scale() const noexcept { return summary_.scale; }
    std::size_t correspondences() const noexcept { return summary_.correspondences; }
    /// Indices of the inliers, ascending.
    std::vector<std::uint64_t> inliers() const {
        std::vector<std::uint64_t> indices(summary_.inlier_count);
        std::size_t count = 0;
        detail::check(pcr99_result_inliers(owner_.get(), indices.data(), indices.size(), &count));
        return indices;
    }
    bool has_covariance() const noexcept { return summary_.covariance_size != 0; }
    /// The covariance about the centre of the data, or about a point.
    Covariance covariance(std::optional<std::array<double, 3>> about = std::nullopt) const {
        Covariance covariance;
        covariance.size = summary_.covariance_size;
        covariance.values.resize(covariance.size * covariance.size);
        std::size_t count = 0;
        detail::check(pcr99_result_covariance(owner_.get(), about ? about->data() : nullptr, covariance.center.data(),
                                              covariance.values.data(), covariance.values.size(), &count));
        return covariance;
    }
    /// Why the result is not registered, as a word; empty when it is.
    std::string doubt() const { return text(PCR99_TEXT_DOUBT); }
    /// The verdict in one sentence.
    std::string reason() const { return text(PCR99_TEXT_REASON); }
    /// The accuracy in one sentence.
    std::string accuracy() const { return text(PCR99_TEXT_ACCURACY); }
    /// The whole document.
    std::string json() const { return text(PCR99_TEXT_JSON); }
    std::string to_tum() const { return text(PCR99_TEXT_TUM); }
    std::string to_kitti() const { return text(PCR99_TEXT_KITTI); }
    std::string to_g2o() const { return text(PCR99_TEXT_G2O); }

private:
    friend class Solver;
    friend class Cloud;
    friend Result assess(const Points&, const Points&, const Matrix&, double);
    friend Result register_clouds(const class Cloud&, const class Cloud&, const RegisterOptions&);
    friend Result refine(const class Cloud&, const class Cloud&, const Matrix&, const RegisterOptions&);

    Result() = default;
    void load() { detail::check(pcr99_result_summary(owner_.get(), &summary_)); }
    std::string text(std::uint32_t which) const {
        std::size_t size = 0;
        detail::check(pcr99_result_text(owner_.get(), which, nullptr, 0, &size));
        std::string text(size, '\0');
        detail::check(pcr99_result_text(owner_.get(), which, text.data(), size, &size));
        text.pop_back();
        return text;
    }

    detail::Owner<pcr99_result, pcr99_result_free> owner_;
    pcr99_summary summary_{};
};

/// Matches with what is known of each of them.
struct Matches {
    Matches(Points source, Points target) : source(source), target(target) {}
    Points source, target;
    /// Pairs of rows that match, `[source, target]`; empty: row i matches row i.
    std::vector<std::array<std::uint64_t, 2>> indices{};
    std::vector<double> weights{};              ///< One for each match, or empty.
    std::vector<double> standard_deviations{};  ///< One for each match, or empty.

    pcr99_matches raw() const {
        const std::size_t count = indices.empty() ? source.view().count : indices.size();
        const auto fits = [&](const std::vector<double>& list, const char* message) {
            if (!list.empty() && list.size() != count) throw Error(PCR99_CODE_INVALID_ARGUMENT, message);
            return list.empty() ? nullptr : list.data();
        };
        return {source.view(), target.view(), indices.empty() ? nullptr : indices.front().data(), indices.size(),
                fits(weights, "weights: one for each match is needed"),
                fits(standard_deviations, "standard_deviations: one for each match is needed")};
    }
};

/// Memory of searches that is used again and again. Use one for each thread.
class Solver {
public:
    Solver() { detail::check(pcr99_solver_new(owner_.put())); }

    Result solve(const Matches& matches, const SolveOptions& options = {}) const {
        const pcr99_matches raw_matches = matches.raw();
        const pcr99_solve_options raw = detail::raw(options);
        detail::Stopper stopper{options.stop};
        Result result;
        stopper.finish(pcr99_solve(owner_.get(), &raw_matches, &raw, stopper.function(), &stopper, result.owner_.put()));
        result.load();
        return result;
    }

private:
    detail::Owner<pcr99_solver, pcr99_solver_free> owner_;
};

/// Finds the transform from matches of which most may be wrong: row i of one matches row i of the other.
inline Result solve(const Points& source, const Points& target, const SolveOptions& options = {}) {
    return Solver().solve(Matches(source, target), options);
}

/// Judges a given transform.
inline Result assess(const Points& source, const Points& target, const Matrix& transform, double threshold) {
    const pcr99_matches matches = Matches(source, target).raw();
    Result result;
    detail::check(pcr99_assess(&matches, transform.data(), threshold, result.owner_.put()));
    result.load();
    return result;
}

/// A cloud that is prepared once and registered many times, on any number of threads at once.
class Cloud {
public:
    explicit Cloud(const Points& points, std::optional<std::array<double, 3>> viewpoint = std::nullopt, std::uint64_t threads = 0) {
        detail::check(pcr99_cloud_new(&points.view(), nullptr, viewpoint ? viewpoint->data() : nullptr, threads, owner_.put()));
    }
    Cloud(const Points& points, const Points& normals, std::optional<std::array<double, 3>> viewpoint = std::nullopt,
          std::uint64_t threads = 0) {
        detail::check(
            pcr99_cloud_new(&points.view(), &normals.view(), viewpoint ? viewpoint->data() : nullptr, threads, owner_.put()));
    }
    pcr99_cloud handle() const noexcept { return owner_.get(); }

private:
    detail::Owner<pcr99_cloud, pcr99_cloud_free> owner_;
};

/// Finds the transform between two clouds, without given matches. (`register` is a word of C++.)
inline Result register_clouds(const Cloud& source, const Cloud& target, const RegisterOptions& options = {}) {
    const pcr99_register_options raw = detail::raw(options);
    detail::Stopper stopper{options.stop};
    Result result;
    stopper.finish(
        pcr99_register(source.handle(), target.handle(), &raw, stopper.function(), &stopper, result.owner_.put()));
    result.load();
    return result;
}

/// Refines a given pose without a search. The pose must be right to about three voxels.
inline Result refine(const Cloud& source, const Cloud& target, const Matrix& initial, const RegisterOptions& options = {}) {
    const pcr99_register_options raw = detail::raw(options);
    detail::Stopper stopper{options.stop};
    Result result;
    stopper.finish(pcr99_refine(source.handle(), target.handle(), initial.data(), &raw, stopper.function(), &stopper,
                                result.owner_.put()));
    result.load();
    return result;
}

/// Measures how well two clouds fit under a given transform, without a verdict. A voxel of 0 is chosen from the data.
inline pcr99_fit verify(const Cloud& source, const Cloud& target, const Matrix& transform, double voxel = 0.0) {
    pcr99_fit fit{};
    detail::check(pcr99_verify(source.handle(), target.handle(), transform.data(), voxel, &fit));
    return fit;
}

/// The edge of the voxels that `register_clouds` uses by default, in target units.
inline double suggest_voxel(const Cloud& source, const Cloud& target, double scale = 1.0) {
    double voxel = 0.0;
    detail::check(pcr99_suggest_voxel(source.handle(), target.handle(), scale, &voxel));
    return voxel;
}

/// Version of the library.
inline std::string version() { return pcr99_version(); }

}  // namespace pcr99

#endif
