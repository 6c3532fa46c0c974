"""One body that touches another in a point, with Coulomb friction: what follows an event."""
