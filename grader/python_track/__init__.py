"""Submissions in Python, for the one exercise that takes them: the program, and the devices that run it. May
import the devices and what they import."""
