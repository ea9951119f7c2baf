"""JupyterLab in this machine's Chromium, driven as by hand: for pictures of it and for its tests."""
