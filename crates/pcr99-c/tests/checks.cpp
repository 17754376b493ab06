// Checks of the C++ header against the installed library. The argument is a directory for matches and documents, which are compared with those of the program.
#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <pcr99.hpp>
#include <thread>

static int failures = 0;
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            std::cerr << __FILE__ << ':' << __LINE__ << ": " #condition " does not hold\n"; \
            ++failures; \
        } \
    } while (false)

using Point = std::array<double, 3>;

static std::uint64_t state = 11;
// Numbers from 0 to 1, the same on every machine.
static double next_number() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
}

struct Problem {
    std::vector<Point> source, target;
};

// One match in ten is right.
static Problem problem(std::size_t count) {
    Problem p;
    for (std::size_t i = 0; i < count; ++i) {
        const Point a{next_number(), next_number(), next_number()};
        p.source.push_back(a);
        if (i % 10 == 0) {
            p.target.push_back({2.0 - a[1] + 0.01 * next_number(), a[0] - 1.0 + 0.01 * next_number(), a[2] + 0.01 * next_number()});
        } else {
            p.target.push_back({4.0 * next_number() - 1.0, 4.0 * next_number() - 2.0, 4.0 * next_number() - 2.0});
        }
    }
    return p;
}

static std::vector<Point> hills() {
    std::vector<Point> points;
    for (int i = 0; i < 3600; ++i) {
        const double x = 0.1 * (i % 60), y = 0.1 * (i / 60);
        points.push_back({x, y, std::sin(1.3 * x) * std::cos(0.9 * y + 0.4) + 0.4 * std::sin(2.1 * x - 1.7 * y)});
    }
    return points;
}

template <class Call>
static std::string message_of(pcr99_code code, Call call) {
    try {
        call();
    } catch (const pcr99::Error& error) {
        CHECK(error.code() == code);
        return error.what();
    }
    CHECK(!"an error");
    return "";
}

static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

static void matches(const std::string& directory) {
    const Problem p = problem(300);
    std::string rows = "sx,sy,sz,tx,ty,tz\n";
    for (std::size_t i = 0; i < p.source.size(); ++i) {
        char row[256];
        std::snprintf(row, sizeof row, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", p.source[i][0], p.source[i][1], p.source[i][2],
                      p.target[i][0], p.target[i][1], p.target[i][2]);
        rows += row;
    }
    write(directory + "/matches.csv", rows);

    pcr99::SolveOptions options;
    options.scale = pcr99::Scale::unknown();
    const pcr99::Result unknown = pcr99::solve(p.source, p.target, options);
    CHECK(unknown);
    CHECK(unknown.inliers().size() >= 29 && unknown.inliers()[0] == 0);
    write(directory + "/unknown.json", unknown.json());

    pcr99::SolveOptions given;
    given.threshold = 0.05;
    pcr99::Solver solver;
    const pcr99::Result known = solver.solve({p.source, p.target}, given);
    CHECK(known && known.scale() == 1.0 && known.doubt().empty());
    write(directory + "/known.json", known.json());

    // The same from single precision, strides, columns, rows and structs.
    struct Vertex {
        int tag;
        double x, y, z;
    };
    std::vector<Vertex> vertices;
    Eigen::Matrix3Xd columns(3, p.source.size());
    Eigen::MatrixX3d rows_of(p.source.size(), 3);
    Eigen::Matrix<double, Eigen::Dynamic, 5, Eigen::RowMajor> wide(p.source.size(), 5);
    for (std::size_t i = 0; i < p.source.size(); ++i) {
        const Point& a = p.source[i];
        vertices.push_back({1, a[0], a[1], a[2]});
        columns.col(i) << a[0], a[1], a[2];
        rows_of.row(i) << a[0], a[1], a[2];
        wide.row(i) << 9.0, a[0], a[1], a[2], 9.0;
    }
    const auto again = [&](const pcr99::Points& source) { return solver.solve({source, p.target}, given).transform(); };
    CHECK(again(vertices) == known.transform());
    CHECK(again(columns) == known.transform());
    CHECK(again(rows_of) == known.transform());
    CHECK(again(wide.middleCols<3>(1)) == known.transform());
    CHECK(again(pcr99::Points(&vertices[0].x, vertices.size(), sizeof(Vertex))) == known.transform());

    pcr99::Matches indexed{p.source, p.target};
    for (std::uint64_t i = 0; i < p.source.size(); ++i) indexed.indices.push_back({i, i});
    indexed.weights.assign(p.source.size(), 1.0);
    CHECK(solver.solve(indexed, given).transform() == known.transform());

    CHECK(pcr99::assess(p.source, p.target, known.transform(), 0.05));
    const pcr99::Result back = pcr99::Result::from_json(known.json());
    CHECK(back.json() == known.json() && back.transform() == known.transform());

    CHECK(known.has_covariance());
    const pcr99::Covariance covariance = known.covariance();
    CHECK(covariance.size == 6 && covariance(0, 1) == covariance(1, 0) && covariance(5, 5) > 0.0);
    CHECK(unknown.covariance().size == 7);
    CHECK(known.covariance(Point{100.0, 0.0, 0.0})(4, 4) > covariance(4, 4));
    CHECK(!known.to_tum().empty() && known.to_g2o().rfind("EDGE_SE3:QUAT 0 1 ", 0) == 0);

    // Matches that are all wrong are an answer, not a failure.
    std::vector<Point> noise = p.target;
    for (auto& b : noise) b = {next_number(), next_number(), next_number()};
    const pcr99::Result none = solver.solve({p.source, noise}, given);
    CHECK(!none && !none.doubt().empty() && !none.reason().empty());
}

static void clouds() {
    const std::vector<Point> target = hills();
    std::vector<Point> source;
    for (const Point& b : target) source.push_back({7.0 - b[1], b[0], b[2] - 2.0});
    const pcr99::Cloud a(source), b(target);
    const pcr99::Result r = pcr99::register_clouds(a, b);
    CHECK(r && std::abs(r.transform()[11] - 2.0) < 0.01);
    CHECK(!r.accuracy().empty());
    const pcr99::Result near = pcr99::refine(a, b, r.transform());
    CHECK(near && std::abs(near.transform()[11] - 2.0) < 0.01);
    CHECK(pcr99::verify(a, b, r.transform()).overlap_source > 0.95);
    CHECK(pcr99::suggest_voxel(a, b) > 0.05);

    // The same clouds on several threads at once.
    std::vector<std::thread> threads;
    std::array<pcr99::Matrix, 3> found{};
    for (auto& matrix : found) threads.emplace_back([&] { matrix = pcr99::register_clouds(a, b).transform(); });
    for (auto& thread : threads) thread.join();
    for (const auto& matrix : found) CHECK(matrix == r.transform());

    // A callback ends the search, and its exceptions arrive.
    pcr99::RegisterOptions stopping;
    stopping.stop = [] { return true; };
    CHECK(!pcr99::register_clouds(a, b, stopping));
    stopping.stop = []() -> bool { throw std::logic_error("enough"); };
    bool arrived = false;
    try {
        pcr99::register_clouds(a, b, stopping);
    } catch (const std::logic_error&) {
        arrived = true;
    }
    CHECK(arrived);
}

static void mistakes() {
    const Problem p = problem(50);
    const std::vector<Point> none;
    std::vector<Point> broken = p.source;
    broken[3][1] = std::nan("");
    const auto solve = [&](const std::vector<Point>& source, const pcr99::SolveOptions& options = {}) {
        return message_of(PCR99_CODE_INVALID_ARGUMENT, [&] { pcr99::solve(source, p.target, options); });
    };
    CHECK(solve(none).find("0 source points but 50 target points") != std::string::npos);
    CHECK(solve(broken).find("3") != std::string::npos);
    pcr99::SolveOptions options;
    options.threshold = 0.0;
    CHECK(solve(p.source, options).find("threshold") != std::string::npos);
    options.threshold = std::nan("");
    CHECK(solve(p.source, options).find("threshold") != std::string::npos);
    options.threshold = 0.1;
    options.method = "magic";
    CHECK(solve(p.source, options).find("one of default, paper") != std::string::npos);
    message_of(PCR99_CODE_INVALID_ARGUMENT, [&] { pcr99::Cloud{none}; });
    message_of(PCR99_CODE_INVALID_ARGUMENT, [&] { pcr99::assess(p.source, p.target, pcr99::Matrix{}, 0.1); });
    message_of(PCR99_CODE_INVALID_ARGUMENT, [&] { pcr99::Result::from_json("{"); });
    pcr99::Matches unequal{p.source, p.target};
    unequal.weights = {1.0};
    message_of(PCR99_CODE_INVALID_ARGUMENT, [&] { pcr99::Solver().solve(unequal); });

    // Handles that were freed, are of another kind, or never were.
    pcr99_cloud cloud{};
    const pcr99_points points = pcr99::Points(p.source).view();
    CHECK(pcr99_cloud_new(&points, nullptr, nullptr, 1, &cloud) == PCR99_CODE_OK);
    pcr99_summary summary;
    CHECK(pcr99_result_summary({cloud.id}, &summary) == PCR99_CODE_INVALID_HANDLE);
    CHECK(std::string(pcr99_last_error()).find("is a cloud, not a result") != std::string::npos);
    CHECK(pcr99_cloud_free(cloud) == PCR99_CODE_OK);
    CHECK(pcr99_cloud_free(cloud) == PCR99_CODE_INVALID_HANDLE);
    CHECK(std::string(pcr99_last_error()).find("was freed") != std::string::npos);
    pcr99_result result{};
    CHECK(pcr99_register(cloud, cloud, nullptr, nullptr, nullptr, &result) == PCR99_CODE_INVALID_HANDLE);
    CHECK(pcr99_register({1u << 30}, {0}, nullptr, nullptr, nullptr, &result) == PCR99_CODE_INVALID_HANDLE);

    // Null pointers and nonsense.
    CHECK(pcr99_solve({0}, nullptr, nullptr, nullptr, nullptr, &result) == PCR99_CODE_INVALID_ARGUMENT);
    CHECK(pcr99_solver_new(nullptr) == PCR99_CODE_INVALID_ARGUMENT);
    pcr99_points wrong = points;
    wrong.scalar = 7;
    CHECK(pcr99_cloud_new(&wrong, nullptr, nullptr, 1, &cloud) == PCR99_CODE_INVALID_ARGUMENT);
    wrong = points;
    wrong.data = nullptr;
    CHECK(pcr99_cloud_new(&wrong, nullptr, nullptr, 1, &cloud) == PCR99_CODE_INVALID_ARGUMENT);
    wrong = points;
    wrong.count = static_cast<std::size_t>(-1);
    CHECK(pcr99_cloud_new(&wrong, nullptr, nullptr, 1, &cloud) == PCR99_CODE_INVALID_ARGUMENT);
    CHECK(result.id == 0);

    // A buffer that is too small is not written.
    const pcr99::Result r = pcr99::solve(p.source, p.target);
    const std::string json = r.json();
    CHECK(pcr99_result_from_json(json.c_str(), &result) == PCR99_CODE_OK);
    char text[4] = "abc";
    std::size_t size = 0;
    CHECK(pcr99_result_text(result, PCR99_TEXT_JSON, text, sizeof text, &size) == PCR99_CODE_BUFFER_TOO_SMALL);
    CHECK(size == json.size() + 1 && std::string(text) == "abc");
    CHECK(pcr99_result_text(result, 99, nullptr, 0, &size) == PCR99_CODE_INVALID_ARGUMENT);
    CHECK(pcr99_result_free(result) == PCR99_CODE_OK);
}

static void log_lines() {
    const Problem p = problem(400);
    std::vector<Point> source;
    const std::vector<Point> target = hills();
    for (const Point& b : target) source.push_back({7.0 - b[1], b[0], b[2] - 2.0});
    const pcr99::Cloud a(source), b(target);
    pcr99::SolveOptions unknown;
    unknown.scale = pcr99::Scale::unknown();
    const pcr99::Result silent = pcr99::solve(p.source, p.target, unknown);

    using Line = std::pair<std::uint32_t, std::string>;
    std::vector<Line> lines;
    const auto keep = [&](std::uint32_t level, const char* line) { lines.emplace_back(level, line); };
    const auto has = [&](std::uint32_t level, const std::string& begin) {
        for (const Line& line : lines)
            if (line.first == level && line.second.compare(0, begin.size(), begin) == 0) return true;
        return false;
    };
    pcr99::set_log(keep, PCR99_LOG_DEBUG);
    const pcr99::Result told = pcr99::solve(p.source, p.target, unknown);
    CHECK(told.transform() == silent.transform() && told.inliers() == silent.inliers());
    CHECK(told.reason() == silent.reason() && told.accuracy() == silent.accuracy());
    CHECK(has(PCR99_LOG_INFO, "400 matches; method default, scale unknown, threshold from the data"));
    CHECK(has(PCR99_LOG_INFO, "threshold ") && has(PCR99_LOG_INFO, "no doubt: " + told.reason()));
    CHECK(has(PCR99_LOG_DEBUG, "candidate 1: ") && has(PCR99_LOG_DEBUG, "search with threshold "));

    // The same lines in the same order, whatever the number of threads.
    std::vector<Line> alone;
    for (std::size_t threads : {1, 3}) {
        lines.clear();
        pcr99::RegisterOptions options;
        options.threads = threads;
        CHECK(pcr99::register_clouds(pcr99::Cloud(source), pcr99::Cloud(target), options));
        CHECK(has(PCR99_LOG_INFO, "voxel ") && has(PCR99_LOG_INFO, "round 1: ") && has(PCR99_LOG_INFO, "no doubt: "));
        CHECK(has(PCR99_LOG_DEBUG, "refined in ") && has(PCR99_LOG_DEBUG, "search with threshold "));
        if (threads == 1) alone = lines;
    }
    CHECK(lines == alone);

    // Only decisions; and a function that calls the library, throws, and cannot replace itself.
    lines.clear();
    int calls = 0;
    pcr99::set_log([&](std::uint32_t level, const char* line) {
        keep(level, line);
        if (++calls == 1) {
            CHECK(pcr99_set_log(nullptr, PCR99_LOG_OFF, nullptr) == PCR99_CODE_INVALID_ARGUMENT);
            pcr99::solve(p.source, p.target, unknown);
        }
        throw std::logic_error("ignored");
    });
    CHECK(pcr99::solve(p.source, p.target, unknown).transform() == silent.transform());
    CHECK(!lines.empty() && !has(PCR99_LOG_DEBUG, "") && calls == static_cast<int>(lines.size()));
    CHECK(lines.front().second.find("400 matches") == 0 && lines[1].second.find("threshold ") == 0);

    lines.clear();
    pcr99::set_log({});
    pcr99::solve(p.source, p.target, unknown);
    CHECK(lines.empty());
    CHECK(pcr99_set_log([](std::uint32_t, const char*, void*) {}, 7, nullptr) == PCR99_CODE_INVALID_ARGUMENT);
}

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: checks DIRECTORY\n";
        return 2;
    }
    matches(arguments[1]);
    clouds();
    mistakes();
    log_lines();
    std::cout << (failures == 0 ? "all checks hold" : "checks failed") << '\n';
    return failures == 0 ? 0 : 1;
}
