//go:build embedded

package temporaleval

// The build tag embedded enables the tests with a Temporal server.
func init() { embedded = true }
