"""Drives JupyterLab in this machine's Chromium, for screenshots and for tests."""
