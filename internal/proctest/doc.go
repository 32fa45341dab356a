// Package proctest inspects processes, for tests that end them.
package proctest
