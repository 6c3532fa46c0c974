"""Rolling contact of an object on a moving hand: kinematics, dynamics, friction."""
