"""Sweeps: one scenario over grids or samples of its entries, into Parquet."""
