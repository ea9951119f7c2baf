"""Programs whose launches ncu counted on an H200, and the virtual GPU's counters beside its figures."""
