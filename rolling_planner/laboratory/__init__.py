"""Plans of the laboratory's experiments: flip-up, throw and catch."""
