"""The walls around student code: what a process may reach, how much it may use, and who watches. May import
the core alone."""
