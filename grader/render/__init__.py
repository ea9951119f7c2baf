"""Records and reports for people: terminal, pages, tables. Nothing here decides a point. May
import the packages whose results it shows, and nothing imports it but what a person calls."""
