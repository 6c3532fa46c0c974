"""Balls and disks driven by internal masses: Putkaradze & Rogers."""
