"""Self-checking programs for sm_90a: mbarriers, bulk copies, tensor maps, wgmma, clusters."""
