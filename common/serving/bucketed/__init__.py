"""A key/value cache of mixed precision: the tokens of one width lie together in a bucket."""
