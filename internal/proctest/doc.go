// Package proctest looks at processes, for tests that end them.
package proctest
