// Registers matches and clouds in matrices of Eigen, without copying them.
#include <Eigen/Dense>
#include <iostream>
#include <pcr99.hpp>

// A curved surface seen twice: 3600 points.
static Eigen::Matrix3Xd hills() {
    Eigen::Matrix3Xd points(3, 3600);
    for (int i = 0; i < 3600; ++i) {
        const double x = 0.1 * (i % 60), y = 0.1 * (i / 60);
        points.col(i) << x, y, std::sin(1.3 * x) * std::cos(0.9 * y + 0.4) + 0.4 * std::sin(2.1 * x - 1.7 * y);
    }
    return points;
}

int main() {
    const Eigen::Matrix3Xd target = hills();
    const Eigen::Isometry3d truth = Eigen::Translation3d(1.0, -2.0, 0.5) * Eigen::AngleAxisd(0.7, Eigen::Vector3d::UnitZ());
    const Eigen::MatrixX3f source = (truth.inverse() * target).transpose().cast<float>();

    const pcr99::Result r = pcr99::register_clouds(pcr99::Cloud(source), pcr99::Cloud(target));
    std::cout << r.reason() << '\n';
    if (!r) return 1;
    const pcr99::Matrix matrix = r.transform();
    const Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> transform(matrix.data());
    std::cout << transform << "\naccuracy: " << r.accuracy() << '\n';
    const double off = (transform - truth.matrix()).norm();
    std::cout << "off by " << off << '\n';
    return off < 0.01 ? 0 : 1;
}
