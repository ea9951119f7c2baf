"""Mistakes with mbarriers, bulk copies, tensor maps, wgmma and clusters, each with its corrected twin."""
