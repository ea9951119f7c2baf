"""What the programs write: files of figures, and the charts and tables that show them."""
