"""Many submissions at once: where they are found, how they are graded beside each other, what they share. May
import records and the registry; the pipeline runs in a process of its own."""
