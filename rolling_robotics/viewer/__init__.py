"""The scene in a browser, drawn by viser; an optional extra of the package."""
