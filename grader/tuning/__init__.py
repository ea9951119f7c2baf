"""The search for a kernel's best tunables: what may be built, how it is timed, what is kept. May
import the bench, the classes, the devices and the timing."""
