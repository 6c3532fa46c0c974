"""A robot that balances on a ball: a system for rolling_robotics."""
