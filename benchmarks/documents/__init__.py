"""Makes the tables and pictures that README.md, docs/ and the answers show."""
