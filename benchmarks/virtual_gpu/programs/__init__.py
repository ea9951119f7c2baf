"""Programs that check themselves, and what they printed on an H200."""
