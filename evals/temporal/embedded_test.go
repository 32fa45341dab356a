//go:build embedded

package main

// The build tag embedded enables the tests with a Temporal server.
func init() { embedded = true }
