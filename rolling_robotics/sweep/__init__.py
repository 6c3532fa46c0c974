"""Sweeps: one scenario over grids or samples of its entries, on Dask, into Parquet."""
