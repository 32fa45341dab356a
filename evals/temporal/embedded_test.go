//go:build embedded

package main

// The tag embedded asks for the tests with a Temporal server.
func init() { embedded = true }
