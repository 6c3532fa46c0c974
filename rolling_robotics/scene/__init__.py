"""Scene of a result: animation and viewer draw the same one."""
