// Registers two clouds of PCL, without copying them.
#include <cmath>
#include <iostream>
#include <pcl/point_cloud.h>
#include <pcl/point_types.h>
#include <pcr99.hpp>

int main() {
    pcl::PointCloud<pcl::PointXYZI> source, target;
    for (int i = 0; i < 3600; ++i) {
        const float x = 0.1f * (i % 60), y = 0.1f * (i / 60);
        pcl::PointXYZI p;
        p.x = x, p.y = y;
        p.z = std::sin(1.3f * x) * std::cos(0.9f * y + 0.4f) + 0.4f * std::sin(2.1f * x - 1.7f * y);
        target.push_back(p);
        // The source is turned by 90 degrees about z, and moved.
        pcl::PointXYZI q;
        q.x = 7.0f - p.y, q.y = p.x, q.z = p.z - 2.0f;
        source.push_back(q);
    }
    const pcr99::Result r = pcr99::register_clouds(pcr99::Cloud(source), pcr99::Cloud(target));
    std::cout << r.reason() << '\n';
    return r && std::abs(r.transform()[11] - 2.0) < 0.01 ? 0 : 1;
}
