"""Submissions in Python, for the one exercise that allows them: the program, and the devices that run it. May
import the devices and what they import."""
