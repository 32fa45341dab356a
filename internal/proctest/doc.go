// Package proctest starts and inspects processes for tests: their own program in roles, programs of npm
// packages, a Postgres server.
package proctest
