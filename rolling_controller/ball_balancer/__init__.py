"""Laws of a ball balancer: made of scalar arithmetic, so that they can be exported as C."""
