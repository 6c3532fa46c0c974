"""Numbers of a ball balancer from a log of it, by maximum likelihood."""
