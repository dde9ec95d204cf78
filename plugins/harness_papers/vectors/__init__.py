"""Which stack computes a reference vector of a public implementation; a module a family, a function a slug."""
