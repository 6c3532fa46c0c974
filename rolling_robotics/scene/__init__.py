"""What a result looks like in space: animation and viewer draw the same scene."""
