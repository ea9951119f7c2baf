"""Programs that others wrote, built and run on the virtual GPU. Not part of the test suite: it fetches
nothing, and what it is given may take hours."""
