"""A key/value cache of mixed precision: the tokens of one width lie together in a bucket. May import
the rest of serving, and what serving may import."""
