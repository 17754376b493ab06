// A node of ROS 2: registers each cloud on the topic `cloud` with the first one, and publishes the pose with its covariance.
#include <geometry_msgs/msg/pose_with_covariance_stamped.hpp>
#include <pcr99.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <tf2_eigen/tf2_eigen.hpp>

class Registration : public rclcpp::Node {
public:
    Registration() : Node("pcr99") {
        pose_ = create_publisher<geometry_msgs::msg::PoseWithCovarianceStamped>("pose", 10);
        cloud_ = create_subscription<sensor_msgs::msg::PointCloud2>("cloud", 10, [this](const sensor_msgs::msg::PointCloud2& m) { take(m); });
    }

private:
    void take(const sensor_msgs::msg::PointCloud2& message) {
        // The fields x, y and z come first and are 32-bit numbers, as in nearly all drivers.
        const auto* data = reinterpret_cast<const float*>(message.data.data());
        pcr99::Cloud cloud(pcr99::Points(data, std::size_t{message.width} * message.height, message.point_step));
        if (!map_) { map_.emplace(std::move(cloud)); return; }
        const pcr99::Result r = pcr99::register_clouds(cloud, *map_);
        if (!r) { RCLCPP_WARN(get_logger(), "%s", r.reason().c_str()); return; }
        const auto matrix = r.transform();
        geometry_msgs::msg::PoseWithCovarianceStamped pose;
        pose.header = message.header;
        pose.pose.pose = tf2::toMsg(Eigen::Isometry3d(Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(matrix.data()).eval()));
        // ROS has the position first, about the origin of the pose.
        const auto covariance = r.covariance(std::array<double, 3>{matrix[3], matrix[7], matrix[11]});
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j < 6; ++j) pose.pose.covariance[6 * i + j] = covariance((i + 3) % 6, (j + 3) % 6);
        pose_->publish(pose);
    }

    std::optional<pcr99::Cloud> map_;
    rclcpp::Publisher<geometry_msgs::msg::PoseWithCovarianceStamped>::SharedPtr pose_;
    rclcpp::Subscription<sensor_msgs::msg::PointCloud2>::SharedPtr cloud_;
};

int main(int argc, char** argv) {
    rclcpp::init(argc, argv);
    rclcpp::spin(std::make_shared<Registration>());
    rclcpp::shutdown();
}
