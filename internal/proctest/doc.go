// Package proctest starts and inspects processes, for tests that end them.
package proctest
